"""Files that start a project elsewhere, for people to read and own; nothing here talks to a network."""

from sparkassets.deploy.kinds import Deployment, Kind, files_of
from sparkassets.deploy.owned import Written, write_owned
from sparkassets.deploy.requires import requirements_of
from sparkassets.deploy.wheel import Wheel, wheel_of

__all__ = ["Deployment", "Kind", "Wheel", "Written", "files_of", "requirements_of", "wheel_of", "write_owned"]
