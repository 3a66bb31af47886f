#pragma once

/// Fourier transforms.

#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/modes.hpp>
#include <troupe/fft/real_transforms.hpp>
