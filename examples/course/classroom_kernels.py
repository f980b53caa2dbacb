"""Which kernels a student's Jupyter server has: those that are allowed, whatever else is installed.

Jupyter's own manager leaves others out of its list, and starts them for who knows their names.
"""

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel


class AllowedKernels(KernelSpecManager):
    def get_kernel_spec(self, kernel_name):
        if kernel_name not in self.allowed_kernelspecs:
            raise NoSuchKernel(kernel_name)
        return super().get_kernel_spec(kernel_name)
