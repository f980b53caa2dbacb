"""What jupyterhub_config.py has to say for petri's kernels in pods of KubeSpawner's. See docs/containers.md, pod.yaml."""

c = get_config()  # noqa: F821 - JupyterHub gives it
c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
c.KubeSpawner.image = "localhost/petri"  # put your registry's name here
c.KubeSpawner.cmd = ["jupyterhub-singleuser"]
c.KubeSpawner.extra_pod_config = {"hostUsers": False}
c.KubeSpawner.container_security_context = {
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "procMount": "Unmasked",
    "seccompProfile": {"type": "Localhost", "localhostProfile": "petri/seccomp.json"},
    "appArmorProfile": {"type": "Unconfined"},
}
