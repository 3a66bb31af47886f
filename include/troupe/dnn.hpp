#pragma once

/// Layers of neural networks.

#include <troupe/dnn/convolution.hpp>
#include <troupe/dnn/modes.hpp>
#include <troupe/dnn/plans.hpp>
