#pragma once

/// Training and inference on several devices: helpers over worlds.

#include <troupe/parallel/gradient_buckets.hpp>
#include <troupe/parallel/weights.hpp>
