#pragma once

/// Kernels compiled at run time.

#include <troupe/jit/arguments.hpp>
#include <troupe/jit/attributes.hpp>
#include <troupe/jit/compiler.hpp>
#include <troupe/jit/digest.hpp>
#include <troupe/jit/kernel.hpp>
#include <troupe/jit/launch.hpp>
#include <troupe/jit/tile.hpp>
