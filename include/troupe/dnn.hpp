#pragma once

/// Operations of deep neural networks (cuDNN).

#include <troupe/dnn/attention.hpp>
#include <troupe/dnn/kv_append.hpp>
