"""Pages for a browser: an embedding along α, and a point cloud in three dimensions."""
