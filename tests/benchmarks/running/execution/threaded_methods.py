"""A module that starts a thread when it is imported."""

import threading
import time

METHODS = ()

threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
