"""petri's worker: the Python that runs inside the sandbox."""
