"""On PYTHONPATH, Python runs this first: torch is then as good as not installed, in workers too."""

import sys
from importlib.machinery import PathFinder


class WithoutTorch(PathFinder):
    """Finds all but torch, as a module and as an installed package."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname.partition(".")[0] == "torch" else super().find_spec(fullname, path, target)

    @staticmethod
    def find_distributions(*context):
        found = PathFinder.find_distributions(*context)
        return (one for one in found if one.name != "torch")


sys.meta_path = [WithoutTorch if finder is PathFinder else finder for finder in sys.meta_path]
