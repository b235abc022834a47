X


def test_a_private_folder_is_private(workspaces):
    assert workspaces.open().folder.stat().st_mode & 0o077 == 0
