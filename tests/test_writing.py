"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import stat

import pytest
from shopca_rs.atomic_files import as_target, replacing


@pytest.fixture
def umask():
    """Set a umask that is not the usual one, and put the usual one back."""
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_appears_when_the_block_ends_and_not_before(tmp_path):
    path = tmp_path / "answer.txt"
    with replacing(path) as unfinished:
        unfinished.write_text("42")
        assert not path.exists()
    assert path.read_text() == "42"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "plain", "a.b.c.PNG"])
def test_the_unfinished_file_has_the_same_suffixes_and_folder(name, tmp_path):
    path = tmp_path / name
    with replacing(path) as unfinished:
        assert unfinished.parent == path.parent
        assert unfinished.suffix == path.suffix
        assert unfinished.name.endswith("".join(path.suffixes[-2:]))
        unfinished.touch()


@pytest.mark.parametrize("name", ["é" * 120 + ".csv", "x" * 250 + ".csv"])
def test_a_name_as_long_as_the_system_allows_can_be_written(name, tmp_path):
    with replacing(tmp_path / name) as unfinished:
        unfinished.write_text("x")
    assert (tmp_path / name).read_text() == "x"


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_the_block_leaves_the_old_file_and_nothing_else(end, tmp_path):
    path = tmp_path / "old.txt"
    path.write_text("old")

    def write():
        with replacing(path) as unfinished:
            unfinished.write_text("half")
            raise end

    with pytest.raises(end):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path):
    path = tmp_path / "big.txt"
    with (
        pytest.raises(OSError, match=r"big\.txt cannot be written: No space left on device\.$"),
        replacing(path),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_of_two_files_the_one_that_failed_is_named_and_neither_is_left(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"

    def write():
        with replacing(first) as unfinished, replacing(second):
            unfinished.touch()
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"second\.txt cannot be written: No space left on device\.$") as caught:
        write()
    assert "first.txt" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_error_about_another_file_stays_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"elsewhere\.txt"), replacing(tmp_path / "a.txt"):
        (tmp_path / "elsewhere.txt").read_text()


def test_a_new_file_has_the_permissions_open_gives(umask, tmp_path):
    plain, path = tmp_path / "plain", tmp_path / "replaced"
    plain.write_text("x")
    with replacing(path) as unfinished:
        unfinished.write_text("x")
    assert mode(path) == mode(plain) == 0o640


def test_an_old_file_keeps_its_permissions(umask, tmp_path):
    path = tmp_path / "old"
    path.write_text("x")
    path.chmod(0o604)
    with replacing(path) as unfinished:
        unfinished.write_text("y")
    assert (mode(path), path.read_text()) == (0o604, "y")


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    with replacing(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def refused(path, exception, text):
    with pytest.raises(exception, match=text) as caught, replacing(path):
        pytest.fail("the block was entered")
    assert str(caught.value).startswith(f"{path} cannot be written: ")


def test_a_missing_folder_is_named(tmp_path):
    refused(
        tmp_path / "nowhere" / "a.csv",
        FileNotFoundError,
        r"there is no folder .*nowhere\. Create it first\.$",
    )


def test_a_folder_is_no_file(tmp_path):
    refused(tmp_path, IsADirectoryError, r"it is a folder\. Give the name of a file\.$")


@pytest.mark.parametrize("name", ["loop.csv", "folder/z.csv"])
def test_a_link_that_leads_back_to_itself_is_refused(name, tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "back.csv")
    (tmp_path / "back.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "folder").symlink_to(tmp_path / "folder")
    refused(tmp_path / name, OSError, r"a symbolic link leads back to itself\. Give another name\.$")


def test_a_name_too_long_for_the_system_is_refused(tmp_path):
    refused(tmp_path / ("x" * 300 + ".csv"), OSError, r": File name too long\. Give another name\.$")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "a.csv").touch()
    refused(
        tmp_path / "a.csv" / "b.csv", FileNotFoundError, r"there is no folder .*a\.csv\. Create it first\.$"
    )


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", OSError, r"it is a device or a pipe\. Give the name of a file\.$")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("locked", ["file", "folder"])
def test_what_is_read_only_is_refused_before_the_work(locked, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")
    wrong = path if locked == "file" else tmp_path
    # Whoever runs this as root may write everywhere.
    monkeypatch.setattr("os.access", lambda asked, _: asked != wrong)
    refused(
        path, PermissionError, rf"{locked} is read-only\. Give (another name|a name in another folder)\.$"
    )


def test_the_target_of_a_relative_path_is_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert as_target("a.csv") == tmp_path.resolve() / "a.csv"
