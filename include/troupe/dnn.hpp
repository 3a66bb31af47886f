#pragma once

/// Layers of neural networks.

#include <troupe/dnn/attention.hpp>
#include <troupe/dnn/computation.hpp>
#include <troupe/dnn/convolution.hpp>
#include <troupe/dnn/graph.hpp>
#include <troupe/dnn/kv_append.hpp>
#include <troupe/dnn/kv_cache.hpp>
#include <troupe/dnn/modes.hpp>
#include <troupe/dnn/nodes.hpp>
#include <troupe/dnn/plans.hpp>
#include <troupe/dnn/rnn.hpp>
