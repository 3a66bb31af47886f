# serve.py
import importlib
import os
import signal
import sys

import numpy as np
import troupe


def main(module: str) -> None:
    with troupe.System() as system:
        gpu = system.device(
            0,
            backend="cpu" if module == "numpy_model" else "auto",  # NumPy reads no GPU's memory
            operations=[module],  # workers import the module
        )
        gpu.bind("digits", importlib.import_module(module).weights())
        batch = gpu.tensor(np.random.default_rng(2).random((8, 64), "f4"))
        expected = gpu.digits.classify(x=batch, weights="digits").numpy()

        futures = [gpu.digits.classify(x=batch, weights="digits") for _ in range(200)]
        if worker := gpu.worker_pid:
            os.kill(worker, signal.SIGKILL)
        right = sum(np.array_equal(one.numpy(), expected) for one in futures)
        print(f"killed: {right} of {len(futures)} answers are right")

        try:
            bad = np.full((1, 64), 666, "f4")
            gpu.digits.classify(x=gpu.tensor(bad), weights="digits").result()
        except troupe.DeviceFault as why:
            print("crashed:", why.message.splitlines()[0])
        again = gpu.digits.classify(x=batch, weights="digits").numpy()
        print("the next answer is right:", np.array_equal(again, expected))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "torch_model")
