"""What jupyterhub_config.py has to say for petri's kernels in containers of DockerSpawner's. See docs/containers.md."""

import pathlib

# The hub sends the profile itself, not its name; and DockerSpawner takes braces for templates.
SECCOMP = pathlib.Path("/etc/petri/seccomp.json").read_text().replace("{", "{{").replace("}", "}}")

c = get_config()  # noqa: F821 - JupyterHub gives it
c.JupyterHub.spawner_class = "dockerspawner.DockerSpawner"
c.DockerSpawner.image = "localhost/petri"
c.DockerSpawner.cmd = ["jupyterhub-singleuser"]
c.DockerSpawner.extra_host_config = {
    "security_opt": ["seccomp=" + SECCOMP, "apparmor=unconfined", "no-new-privileges"],
    "cap_drop": ["ALL"],
}
# What docker's command line makes of systempaths=unconfined.
c.DockerSpawner.extra_create_kwargs = {"host_config": {"MaskedPaths": [], "ReadonlyPaths": []}}
