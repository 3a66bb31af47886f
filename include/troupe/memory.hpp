#pragma once

/// Copies, fills and conversions of tensors.

#include <troupe/memory/convert.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>
