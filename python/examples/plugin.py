"""Operations from a plugin in C++ are methods like any other: `plugin.py PATH/libimage.so`.

The plugin is examples/plugin; `docs/guide/plugins.md` says how one is made.
"""

import sys

import numpy as np
import troupe

picture = np.zeros((16, 16), "f4")
picture[8, 8] = 9

with troupe.System() as system:
    gpu = system.device(0, plugins=[sys.argv[1]])
    print(gpu.image.blur.__doc__)
    blurred = gpu.image.blur(gpu.tensor(picture)).numpy()
    print(blurred[6:11, 6:11])

    try:
        gpu.image.faulty(y=gpu.zeros((4, 4))).result()
    except troupe.DeviceFault as why:
        print("its mistake cost one request:", why)
    print("still there:", gpu.image.blur(gpu.tensor(picture)).numpy().sum())
