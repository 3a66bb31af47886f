#pragma once

/// Devices and their memory: all that sends requests, but the requests, which have a header for
/// each library (`troupe/blas.hpp`).

#include <troupe/device/config.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/health.hpp>
#include <troupe/device/lease.hpp>
#include <troupe/device/library_actor.hpp>
#include <troupe/device/request_options.hpp>
#include <troupe/tensor/buffer.hpp>
#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/host_tensor.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/small_floats.hpp>
#include <troupe/tensor/tensor.hpp>
