# A JupyterHub for a class, on one machine: docs/classroom.md says what else it needs.
import os
import sys

c = get_config()  # noqa: F821

# The loopback only: a web server before it has the certificate.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"

# Who may come: accounts of this machine, by its groups.
c.PAMAuthenticator.allowed_groups = {"students", "teachers"}
c.PAMAuthenticator.admin_groups = {"teachers"}

# A class arrives at once. More than two interpreters that start on a processor only wait for each other.
c.JupyterHub.concurrent_spawn_limit = 8
c.JupyterHub.active_server_limit = 35

# Each student has a Jupyter server of their own, run by their account; from the hub's environment, on no path.
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 120

# Kernels come from the machine before those of a home, so no file of a student's can take the name of one. The other
# variable leads to classroom_kernels.py, beside this file.
c.Spawner.environment = {"JUPYTER_PREFER_ENV_PATH": "1", "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}

c.Spawner.args = [
    # Code runs in cells, and so within the profile; a terminal would be a shell of this machine.
    "--ServerApp.kernel_spec_manager_class=classroom_kernels.AllowedKernels",
    "--AllowedKernels.allowed_kernelspecs=petri-classroom",
    "--AllowedKernels.ensure_native_kernel=False",
    "--MultiKernelManager.default_kernel_name=petri-classroom",
    "--ServerApp.terminals_enabled=False",
    "--LabApp.extension_manager=readonly",
    # A notebook that nobody has used for an hour gives its memory back, and a server without notebooks ends.
    "--MappingKernelManager.cull_idle_timeout=3600",
    "--ServerApp.shutdown_no_activity_timeout=3600",
]
