"""The Docker backend (also rootless Docker and Podman's socket, through the Engine API)."""

from termdepth.environments.docker.environment import DockerEnvironment

__all__ = ["DockerEnvironment"]
