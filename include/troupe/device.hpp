#pragma once

/// Devices and their memory: everything for sending requests except the requests themselves. Each
/// library's requests have a header of their own (`troupe/blas.hpp`).

#include <troupe/device/computed.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/health.hpp>
#include <troupe/device/library_actor.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/device/request_options.hpp>
#include <troupe/device/request_tracer.hpp>
#include <troupe/device/topology.hpp>
#include <troupe/device/trace_file.hpp>
#include <troupe/tensor/buffer.hpp>
#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/host_tensor.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/small_floats.hpp>
#include <troupe/tensor/tensor.hpp>
