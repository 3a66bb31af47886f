// The queue that decides about batches; troupe/serving.py has the loop around it.
#include "binding.hpp"

#include <troupe/serving/batch_queue.hpp>

#include <limits>

namespace troupe::python {
namespace {

using serving::batch_queue;

/// Times are seconds of the caller's clock, as `loop.time()` says them.
serving::time_point moment(double seconds) {
  if (seconds != seconds) throw nb::value_error("a time must be a number");
  if (seconds > 9e9) return serving::time_point::max();
  if (seconds < 0) return serving::time_point{};  // the clock begins at 0
  return serving::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}
double seconds(std::chrono::nanoseconds t) { return static_cast<double>(t.count()) * 1e-9; }
double seconds(serving::time_point t) {
  if (t == serving::time_point::max()) return std::numeric_limits<double>::infinity();
  return seconds(t.time_since_epoch());
}
std::chrono::nanoseconds duration(double s) { return *duration_of(s); }

/// The positional arguments of `admit` and `check`.
struct given_terms {
  std::int64_t cost, bytes;
  std::int64_t priority;
  std::uint64_t tenant, sequence, fingerprint;
  double deadline;
};

serving::item_terms terms_of(const given_terms& g) {
  if (g.priority < 0 || g.priority > 255) throw nb::value_error("priority must be from 0 to 255");
  return {.cost = g.cost,
          .bytes = g.bytes,
          .priority = static_cast<std::uint8_t>(g.priority),
          .tenant = g.tenant,
          .sequence = g.sequence,
          .fingerprint = g.fingerprint,
          .deadline = moment(g.deadline)};
}

/// A refusal as (reason, seconds until another try or None).
nb::object refused(const serving::admission& verdict) {
  nb::object retry = nb::none();
  if (verdict.retry_after.count() > 0) retry = nb::float_(seconds(verdict.retry_after));
  return nb::make_tuple(nb::str(to_string(verdict.reason).data()), retry);
}

serving::run_end run_end_of(std::string_view how) {
  if (how == "answered") return serving::run_end::answered;
  if (how == "failed") return serving::run_end::failed;
  if (how == "aborted") return serving::run_end::aborted;
  if (how == "exception") return serving::run_end::exception;
  return serving::run_end::fault;
}

nb::object histogram_of(const duration_histogram& h) {
  nb::list buckets;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i + 1 < duration_histogram::buckets; ++i) {
    below += h.counts[i];
    // One bound for each power of two.
    if (i % 4 == 0) buckets.append(nb::make_tuple(seconds(duration_histogram::bound_of(i)), below));
  }
  nb::dict all;
  all["buckets"] = buckets;
  all["sum"] = seconds(h.sum);
  all["count"] = h.count();
  return all;
}

nb::object histogram_of(const serving::size_histogram& h, std::uint64_t sum) {
  nb::list buckets;
  std::uint64_t below = 0;
  std::size_t last = h.size();
  while (last > 1 && h[last - 1] == 0)
    --last;
  for (std::size_t i = 0; i < last; ++i) {
    below += h[i];
    buckets.append(nb::make_tuple((std::uint64_t{1} << i) - 1, below));
  }
  nb::dict all;
  all["buckets"] = buckets;
  all["sum"] = sum;
  all["count"] = below;
  return all;
}

nb::dict facts_of(const batch_queue& queue) {
  const serving::queue_facts f = queue.facts();
  nb::dict all;
  all["waiting_items"] = f.waiting_items;
  all["waiting_bytes"] = f.held_bytes;
  all["waiting_device_seconds"] = seconds(f.waiting_time);
  all["running_batches"] = f.running_batches;
  nb::dict closed, rejected, outcomes, isolations, tenants;
  for (std::size_t i = 0; i < serving::closing_count; ++i)
    if (f.closed[i] > 0) closed[to_string(static_cast<serving::closing>(i)).data()] = f.closed[i];
  for (std::size_t i = 1; i < serving::refusal_count; ++i)
    if (f.refused[i] > 0)
      rejected[to_string(static_cast<serving::refusal>(i)).data()] = f.refused[i];
  outcomes["ok"] = f.answered;
  outcomes["failed"] = f.failed;
  outcomes["culprit"] = f.culprits;
  outcomes["deadline_exceeded"] = f.expired;
  outcomes["cancelled"] = f.cancelled;
  for (const auto& [pieces, count] : f.isolations)
    isolations[nb::int_(pieces)] = count;
  for (const auto& [tenant, time] : f.device_seconds)
    tenants[nb::int_(tenant)] = time;
  all["batches_total"] = closed;
  all["rejected_total"] = rejected;
  all["requests_total"] = outcomes;
  all["isolations_total"] = isolations;
  all["device_seconds_total"] = tenants;
  all["culprits_total"] = f.culprits;
  all["irreproducible_total"] = f.irreproducible;
  all["quarantined_items"] = f.quarantined;
  all["prediction_error_ratio"] = f.prediction_error;
  all["batch_items"] = histogram_of(f.batch_items, f.batch_items_sum);
  all["batch_cost"] = histogram_of(f.batch_cost, f.batch_cost_sum);
  all["queue_duration_seconds"] = histogram_of(f.queue_time);
  all["request_duration_seconds"] = histogram_of(f.request_time);
  return all;
}

void make_queue(batch_queue* place, std::int64_t items, std::int64_t cost, double delay,
                std::vector<std::int64_t> preferred, std::vector<std::int64_t> padded,
                std::int32_t in_flight, std::int32_t lanes, double starve, std::int64_t queue_items,
                std::int64_t queue_bytes, double queue_time, double run_limit, double failover) {
  try {
    new (place) batch_queue(
        {.most_items = items,
         .most_cost = cost,
         .delay = duration(delay),
         .preferred = std::move(preferred),
         .padded = std::move(padded),
         .in_flight = in_flight,
         .lanes = lanes,
         .starve = duration(starve),
         .queue = {.items = queue_items, .bytes = queue_bytes, .device_time = duration(queue_time)},
         .run_limit = duration(run_limit),
         .failover = duration(failover)});
  } catch (const failure& f) {
    raise(f.error());
  }
}

void add_outcomes(nb::class_<batch_queue>& queue) {
  queue
      .def("finish",
           [](batch_queue& q, serving::batch_id batch, double now, std::string_view how,
              std::uint64_t fingerprint, std::int64_t failures) {
             q.finish(batch, moment(now), run_end_of(how), fingerprint, failures);
           })
      .def("take_ended",
           [](batch_queue& q) {
             nb::list all;
             for (const serving::item_end& one : q.take_ended()) {
               const char* how = one.how == serving::item_ending::expired   ? "expired"
                                 : one.how == serving::item_ending::culprit ? "culprit"
                                                                            : "failed";
               all.append(nb::make_tuple(one.item, how));
             }
             return all;
           })
      .def("wake_at", [](const batch_queue& q) { return seconds(q.wake_at()); })
      .def("accuse", [](batch_queue& q, serving::item_id item, std::uint64_t fingerprint,
                        double now) { q.accuse(item, fingerprint, moment(now)); })
      .def("wants_fingerprints", &batch_queue::wants_fingerprints)
      .def("quarantine",
           [](const batch_queue& q, double now) {
             nb::list all;
             for (const serving::quarantined_item& one : q.quarantine(moment(now)))
               all.append(nb::make_tuple(one.fingerprint, seconds(one.until) - now, one.offences));
             return all;
           })
      .def("forgive", &batch_queue::forgive)
      .def("learn",
           [](batch_queue& q, std::int64_t cost, double time) { q.learn(cost, duration(time)); })
      .def("facts", &facts_of);
}

}  // namespace

void add_batch_queue(nb::module_& m) {
  nb::class_<batch_queue> queue(m, "BatchQueue",
                                "Decides about batches; troupe.serving.Batcher uses it.");
  queue.def("__init__", &make_queue)
      .def("tenants",
           [](batch_queue& q, const std::vector<std::pair<std::uint64_t, double>>& weights,
              double most_share) {
             serving::tenant_shares shares{.most_device_share = most_share};
             for (const auto& [tenant, weight] : weights)
               shares.weights.push_back({tenant, weight});
             try {
               q.tenants(shares);
             } catch (const failure& f) {
               raise(f.error());
             }
           })
      .def("admit",
           [](batch_queue& q, std::int64_t cost, std::int64_t bytes, std::int64_t priority,
              std::uint64_t tenant, std::uint64_t sequence, std::uint64_t fingerprint,
              double deadline, double now) -> nb::object {
             const auto verdict =
                 q.admit(terms_of({cost, bytes, priority, tenant, sequence, fingerprint, deadline}),
                         moment(now));
             return verdict ? nb::object(nb::int_(verdict.item)) : refused(verdict);
           })
      .def("check",
           [](const batch_queue& q, std::int64_t cost, std::int64_t bytes, std::int64_t priority,
              std::uint64_t tenant, double deadline, double now) -> nb::object {
             const auto verdict =
                 q.check(terms_of({cost, bytes, priority, tenant, 0, 0, deadline}), moment(now));
             if (!verdict) return refused(verdict);
             return nb::float_(seconds(verdict.predicted_finish - moment(now)));
           })
      .def("leave", [](batch_queue& q, serving::item_id item,
                       double now) { return q.leave(item, moment(now)); })
      .def("close", &batch_queue::close)
      .def("next", [](batch_queue& q, double now) -> nb::object {
        const auto plan = q.next(moment(now));
        if (!plan) return nb::none();
        nb::list items;
        for (const serving::item_id one : plan->items)
          items.append(one);
        return nb::make_tuple(plan->id, items, nb::str(to_string(plan->closed_by).data()),
                              plan->cost, seconds(plan->run_limit), seconds(plan->deadline));
      });
  add_outcomes(queue);
}

}  // namespace troupe::python
