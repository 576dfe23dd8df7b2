"""The second fundamental form of a point cloud, its curvatures, and the intrinsic dimension."""
