# %% [markdown]
# # A first look
# A notebook as text: VS Code and Jupytext open it as cells.

# %%
import numpy as np
import troupe

system = troupe.System()
gpu = system.device(0)
gpu

# %% [markdown]
# Every request is a method. Ask Python what one takes:

# %%
help(gpu.blas.gemm)

# %%
x = gpu.tensor(np.arange(6.0).reshape(2, 3))
x

# %%
y = gpu.blas.gemm(x, x.T)
y.numpy()

# %% [markdown]
# What is wrong is said with the values:

# %%
try:
    gpu.blas.gemm(a=x, b=x)
except troupe.ShapeMismatch as why:
    print(why)

# %%
system.close()
