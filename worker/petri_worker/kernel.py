"""What libraries know as `get_ipython().kernel`."""


class KernelFace:
    """
    The few attributes that libraries use: ipywidgets' Output asks for the
    request's header, others look for `shell`, `comm_manager` or `session`.
    """

    session = None
    iopub_socket = None

    def __init__(self, shell, comm_manager):
        self.shell = shell
        self.comm_manager = comm_manager
        self._parent_header = {"header": {}}

    def begin(self, header):
        """header: the Jupyter header of the request that is being served, as far as it is known."""
        self._parent_header = {"header": header}

    def get_parent(self, channel=None):
        """The request that is being served, as ipykernel has it: {"header": …}."""
        return self._parent_header
