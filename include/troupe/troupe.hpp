#pragma once

/// Everything a program needs except the libraries, which have a header each (`troupe/blas.hpp`).

#include <troupe/base/error.hpp>
#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/base/unique_function.hpp>
#include <troupe/base/version.hpp>
#include <troupe/core/actor.hpp>
#include <troupe/core/actor_ref.hpp>
#include <troupe/core/actor_status.hpp>
#include <troupe/core/actor_timer.hpp>
#include <troupe/core/block_pool.hpp>
#include <troupe/core/completion_driver.hpp>
#include <troupe/core/deadline.hpp>
#include <troupe/core/delegate.hpp>
#include <troupe/core/envelope.hpp>
#include <troupe/core/future.hpp>
#include <troupe/core/future_combine.hpp>
#include <troupe/core/future_state.hpp>
#include <troupe/core/future_then.hpp>
#include <troupe/core/log.hpp>
#include <troupe/core/mailbox_options.hpp>
#include <troupe/core/message.hpp>
#include <troupe/core/resume_target.hpp>
#include <troupe/core/router.hpp>
#include <troupe/core/spawn_options.hpp>
#include <troupe/core/supervision.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/core/timer_service.hpp>
#include <troupe/device.hpp>
