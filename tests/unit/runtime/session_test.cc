// What a frame does to a session: values, errors, poison, quotas.
#include "opyard/runtime/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "opyard/core/local_keys.h"
#include "opyard/runtime/catalog.h"
#include "tests/unit/runtime/test_operators.h"

namespace opyard::runtime {
namespace {

using testing::call;
using ::testing::ElementsAre;
using testing::floats_of;
using ::testing::HasSubstr;
using testing::id;
using testing::ids;
using testing::value;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    testing::define_test_operators();
    open({});
  }

  void open(const SessionWish& wish) {
    stream_.reset();
    session_ = yard_.sessions().open(wish);
    stream_ = session_->open_stream();
  }

  // An id of the stream.
  Id r(uint64_t number) const { return make_id(stream_->number(), number); }

  Outcome run(Frame frame) {
    Outcome outcome;
    testing::in_session(*session_, [&] { outcome = session_->execute(*stream_, frame); });
    return outcome;
  }
  Outcome run(std::vector<OpCall> ops) {
    Frame frame;
    frame.ops = std::move(ops);
    return run(std::move(frame));
  }

  // Binds floats to an id.
  void put(uint64_t number, const std::vector<float>& values) {
    Frame frame;
    const std::string_view data(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(float));
    frame.puts.push_back({r(number), "float32", {static_cast<int64_t>(values.size())}, data, ""});
    const Outcome outcome = run(std::move(frame));
    ASSERT_TRUE(outcome.failures.empty()) << outcome.failures[0].error.message();
  }

  std::vector<float> at(uint64_t number) {
    std::vector<float> values;
    testing::in_session(*session_,
                        [&] { values = floats_of(session_->store().tensor_at(r(number))); });
    return values;
  }

  // Runs one call that must fail; returns its failure.
  Failure failing(OpCall op) {
    Outcome outcome = run({std::move(op)});
    EXPECT_EQ(outcome.failures.size(), 1u);
    return outcome.failures.empty() ? Failure{} : std::move(outcome.failures[0]);
  }

  Yard yard_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<Stream> stream_;
};

TEST_F(SessionTest, DependentCallsRunInOneFrame) {
  put(1, {1, 2});
  const Outcome outcome =
      run({call(1, "test::twice", {id(r(1))}, {r(2)}), call(2, "test::twice", {id(r(2))}, {r(3)}),
           call(3, "test::scale", {id(r(3)), value(0.5)}, {r(4)})});
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_TRUE(outcome.results.empty()) << "nothing was asked for";
  EXPECT_EQ(outcome.ack, 3u);
  EXPECT_THAT(at(3), ElementsAre(4, 8));
  EXPECT_THAT(at(4), ElementsAre(2, 4));
}

TEST_F(SessionTest, ResultsComeBackAsWanted) {
  put(1, {3});
  OpCall meta = call(1, "test::twice", {id(r(1))}, {r(2)});
  meta.want = Want::kMeta;
  OpCall number = call(2, "test::numel", {id(r(1))});
  number.want = Want::kValue;
  const Outcome outcome = run({meta, number});
  ASSERT_EQ(outcome.results.size(), 2u);
  EXPECT_EQ(outcome.results[0].id, r(2));
  EXPECT_TRUE(outcome.results[0].value.is(Tag::kTensor));
  EXPECT_EQ(outcome.results[1].seq, 2u);
  EXPECT_EQ(outcome.results[1].value.to_int(), 1);
}

TEST_F(SessionTest, KeywordsDefaultsAndWrappedNumbers) {
  put(1, {1});
  OpCall op = call(1, "test::scale", {id(r(1))}, {r(2)});
  op.kwargs.push_back({"mode", value("negative")});
  EXPECT_TRUE(run({op}).failures.empty());
  EXPECT_THAT(at(2), ElementsAre(-2)) << "the default of `by` is 2";
  OpCall wrapped = call(2, "test::numel", {value(7.0)});
  wrapped.want = Want::kValue;
  EXPECT_EQ(run({wrapped}).results.at(0).value.to_int(), 1) << "a number where a Tensor is wanted";
}

TEST_F(SessionTest, InPlaceKeepsTheTargetsId) {
  put(1, {1, 2});
  EXPECT_TRUE(run({call(1, "test::twice_", {id(r(1))})}).failures.empty());
  EXPECT_THAT(at(1), ElementsAre(2, 4));
}

TEST_F(SessionTest, SeveralReturnsAndDroppedOnes) {
  put(1, {1, 2});
  EXPECT_TRUE(run({call(1, "test::pair", {id(r(1))}, {0, r(2)})}).failures.empty());
  EXPECT_THAT(at(2), ElementsAre(2, 4));
  const Failure failure = failing(call(2, "test::pair", {id(r(1))}, {r(3)}));
  EXPECT_EQ(failure.error.code(), Code::kInvalidArgument);
  EXPECT_THAT(failure.error.message(), HasSubstr("returns 2 values"));
}

TEST_F(SessionTest, ListReturnsTakeAnIdPerElement) {
  put(1, {5, 6});
  EXPECT_TRUE(run({call(1, "test::parts", {id(r(1))}, {r(2), r(3)})}).failures.empty());
  EXPECT_THAT(at(3), ElementsAre(6));
  const Failure failure = failing(call(2, "test::parts", {id(r(1))}, {r(4)}));
  EXPECT_EQ(failure.error.code(), Code::kInvalidArgument);
}

TEST_F(SessionTest, ListsOfTensors) {
  put(1, {1, 2});
  put(2, {10});
  OpCall total = call(1, "test::total", {ids({r(1), r(2), r(1)})}, {r(3)});
  OpCall present = call(2, "test::present", {ids({r(1), 0, r(2)})});
  present.want = Want::kValue;
  const Outcome outcome = run({total, present});
  ASSERT_TRUE(outcome.failures.empty()) << outcome.failures[0].error.message();
  EXPECT_THAT(at(3), ElementsAre(16));
  EXPECT_EQ(outcome.results.at(0).value.to_int(), 2);
  const Failure failure = failing(call(3, "test::total", {ids({r(1), 0})}));
  EXPECT_EQ(failure.error.code(), Code::kInvalidArgument) << "None is no Tensor";
}

TEST_F(SessionTest, UnknownOperatorNamesTheNearest) {
  const Failure failure = failing(call(1, "test::twise", {value(1)}));
  EXPECT_EQ(failure.error.code(), Code::kNotFound);
  EXPECT_EQ(failure.reason, "UNKNOWN_OP");
  EXPECT_THAT(failure.error.message(), HasSubstr("test::twice"));
  const Failure bare = failing(call(2, "test::over", {value(1)}));
  EXPECT_THAT(bare.error.message(), HasSubstr("test::over.A, test::over.B"));
}

TEST_F(SessionTest, InternalOperatorsAreNotForClients) {
  const Failure failure = failing(call(1, "kernel::add.Tensor", {value(1), value(1)}));
  EXPECT_EQ(failure.error.code(), Code::kNotFound);
  for (const FunctionSchema& schema : list_operators("", 0, "").schemas) {
    EXPECT_NE(schema.name_space(), "kernel");
  }
}

TEST_F(SessionTest, SimilarNamesAreLookedUpForTheFirstFewOnly) {
  std::vector<OpCall> ops;
  for (uint64_t i = 1; i <= 1000; ++i) ops.push_back(call(i, "test::twise", {}));
  const Outcome outcome = run(std::move(ops));
  ASSERT_EQ(outcome.failures.size(), 1000u);
  EXPECT_THAT(outcome.failures.front().error.message(), HasSubstr("test::twice"));
  EXPECT_EQ(outcome.failures.back().error.code(), Code::kNotFound);
  EXPECT_THAT(outcome.failures.back().error.message(), ::testing::Not(HasSubstr("test::twice")));
}

TEST_F(SessionTest, WrongCountsTypesAndNamesAreRefused) {
  put(1, {1});
  struct Case {
    OpCall op;
    const char* argument;
    const char* text;
  };
  OpCall doubled = call(4, "test::scale", {id(r(1)), value(1)});
  doubled.kwargs.push_back({"by", value(2)});
  OpCall unknown = call(5, "test::scale", {id(r(1))});
  unknown.kwargs.push_back({"mod", value("x")});
  const Case cases[] = {
      {call(1, "test::twice", {}), "x", "missing"},
      {call(2, "test::twice", {id(r(1)), id(r(1))}), "", "got 2 arguments by position"},
      {call(3, "test::twice", {value("text")}), "x", "got str 'text', wanted Tensor"},
      {doubled, "by", "given twice"},
      {unknown, "mod", "did you mean 'mode'"},
      {call(6, "test::sum_ints", {value(true)}), "values", "wanted int[2]"},
      {call(7, "test::sum_floats", {value(1.5)}), "values", "wanted float[]"},
      {call(8, "test::dtype_of", {}), "dtype", "missing"},
      {call(9, "test::numel", {ids({r(1)})}), "x", "a list of 1 tensors"},
  };
  for (const Case& one : cases) {
    const Failure failure = failing(one.op);
    EXPECT_EQ(failure.error.code(), Code::kInvalidArgument) << one.text;
    EXPECT_EQ(failure.argument, one.argument) << one.text;
    EXPECT_THAT(failure.error.message(), HasSubstr(one.text));
    EXPECT_EQ(failure.error.op(), one.op.op);
  }
  EXPECT_THAT(at(1), ElementsAre(1)) << "nothing is lost";
}

TEST_F(SessionTest, ABareIntegerStandsForAListOfFixedSize) {
  OpCall bare = call(1, "test::sum_ints", {value(3)});
  OpCall list = call(2, "test::sum_ints", {value(std::vector<int64_t>{1, 2, 3})});
  bare.want = list.want = Want::kValue;
  const Outcome outcome = run({bare, list});
  ASSERT_EQ(outcome.results.size(), 2u);
  EXPECT_EQ(outcome.results[0].value.to_int(), 6);
  EXPECT_EQ(outcome.results[1].value.to_int(), 6);
}

TEST_F(SessionTest, DeadAndForeignIdsAreNotFound) {
  put(1, {1});
  Frame release;
  release.releases = {r(1), r(77)};
  EXPECT_TRUE(run(std::move(release)).failures.empty()) << "an unknown release is no error";
  EXPECT_EQ(failing(call(1, "test::twice", {id(r(1))})).error.code(), Code::kNotFound);

  const std::shared_ptr<Session> other = yard_.sessions().open({});
  const std::shared_ptr<Stream> others = other->open_stream();
  put(2, {1});
  Frame frame;
  frame.ops = {call(1, "test::twice", {id(r(2))})};
  Outcome outcome;
  testing::in_session(*other, [&] { outcome = other->execute(*others, frame); });
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].error.code(), Code::kNotFound);
}

TEST_F(SessionTest, ResultIdsGrowAndAreNeverReused) {
  put(5, {1});
  EXPECT_EQ(failing(call(1, "test::twice", {id(r(5))}, {r(5)})).error.code(), Code::kAlreadyExists);
  EXPECT_THAT(at(5), ElementsAre(1)) << "the value that has the id stays";
  EXPECT_EQ(failing(call(2, "test::twice", {id(r(5))}, {r(4)})).error.code(), Code::kAlreadyExists);
  EXPECT_EQ(failing(call(3, "test::twice", {id(r(5))}, {make_id(9, 1)})).error.code(),
            Code::kInvalidArgument);
  EXPECT_EQ(failing(call(3, "test::twice", {id(r(5))}, {r(6)})).error.code(), Code::kAlreadyExists)
      << "sequence numbers grow, too";
}

TEST_F(SessionTest, FailurePoisonsWithItsFirstCause) {
  put(1, {1});
  OpCall refused = call(1, "test::refuse", {id(r(1))}, {r(2)});
  refused.site = "train.py:12";
  const Outcome outcome =
      run({refused, call(2, "test::twice", {id(r(2))}, {r(3)}),
           call(3, "test::twice", {id(r(3))}, {r(4)}), call(4, "test::twice", {id(r(1))}, {r(5)})});
  ASSERT_EQ(outcome.failures.size(), 3u);
  EXPECT_EQ(outcome.failures[0].error.code(), Code::kOutOfRange);
  EXPECT_FALSE(outcome.failures[0].cause);
  for (size_t i = 1; i < 3; ++i) {
    const Failure& failure = outcome.failures[i];
    EXPECT_EQ(failure.error.code(), Code::kFailedPrecondition);
    EXPECT_EQ(failure.reason, "POISONED");
    ASSERT_TRUE(failure.cause);
    EXPECT_EQ(failure.cause->op, "test::refuse");
    EXPECT_EQ(failure.cause->seq, 1u);
    EXPECT_EQ(failure.cause->code, Code::kOutOfRange);
    EXPECT_EQ(failure.cause->site, "train.py:12");
    EXPECT_THAT(failure.error.message(), HasSubstr("refused on purpose"));
  }
  EXPECT_THAT(at(5), ElementsAre(2)) << "independent operations go on";
  Frame fetch;
  fetch.fetches = {{r(4), Want::kValue}, {r(5), Want::kValue}};
  const Outcome fetched = run(std::move(fetch));
  ASSERT_EQ(fetched.failures.size(), 1u);
  EXPECT_EQ(fetched.failures[0].id, r(4));
  ASSERT_EQ(fetched.results.size(), 1u);
  EXPECT_EQ(fetched.results[0].id, r(5));
}

TEST_F(SessionTest, AKernelsOwnExceptionIsInternal) {
  put(1, {1});
  const Failure failure = failing(call(1, "test::throw_std", {id(r(1))}));
  EXPECT_EQ(failure.error.code(), Code::kInternal);
  EXPECT_THAT(failure.error.message(), HasSubstr("test::throw_std"));
}

TEST_F(SessionTest, DeadlinesAreCheckedBeforeTheStart) {
  OpCall slow = call(1, "test::rest", {value(30)});
  OpCall late = call(2, "test::make", {value(1)}, {r(1)});
  late.deadline_ms = 5;
  OpCall patient = call(3, "test::make", {value(1)}, {r(2)});
  patient.deadline_ms = 60000;
  const Outcome outcome = run({slow, late, patient});
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].seq, 2u);
  EXPECT_EQ(outcome.failures[0].error.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(outcome.failures[0].error.message(), HasSubstr("not started"));
}

TEST_F(SessionTest, ByteQuotaIsCheckedBeforeAllocationAndGivenBack) {
  SessionWish wish;
  wish.bytes = 4096 + kHandleBytes;
  open(wish);
  EXPECT_TRUE(run({call(1, "test::make", {value(512)}, {r(1)})}).failures.empty());
  EXPECT_EQ(session_->budget().used(), 2048u + kHandleBytes);
  const Failure failure = failing(call(2, "test::make", {value(1000)}, {r(2)}));
  EXPECT_EQ(failure.error.code(), Code::kResourceExhausted);
  EXPECT_THAT(failure.error.message(), HasSubstr(std::to_string(wish.bytes)));
  EXPECT_EQ(failing(call(3, "test::make", {value(int64_t{1} << 50)}, {r(3)})).error.code(),
            Code::kResourceExhausted);
  Frame release;
  release.releases = {r(1), r(2), r(3)};
  run(std::move(release));
  EXPECT_EQ(session_->budget().used(), 0u);
  EXPECT_TRUE(run({call(4, "test::make", {value(1000)}, {r(4)})}).failures.empty());
}

TEST_F(SessionTest, IdsArePaidForHoweverSmallTheirValues) {
  SessionWish wish;
  wish.bytes = 3 * kHandleBytes;
  open(wish);
  std::vector<OpCall> ops;
  for (uint64_t i = 1; i <= 4; ++i) ops.push_back(call(i, "test::make", {value(0)}, {r(i)}));
  const Outcome outcome = run(std::move(ops));
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].seq, 4u);
  EXPECT_EQ(outcome.failures[0].error.code(), Code::kResourceExhausted);
  EXPECT_EQ(session_->budget().used(), 3 * kHandleBytes);
  Frame release;
  release.releases = {r(1), r(2), r(2), r(3), r(4)};
  run(std::move(release));
  EXPECT_EQ(session_->budget().used(), 0u);
}

TEST_F(SessionTest, PoisonedIdsArePaidForAndBoundedByTheQuota) {
  SessionWish wish;
  wish.bytes = 10 * kHandleBytes;
  open(wish);
  std::vector<OpCall> ops;
  for (uint64_t i = 1; i <= 1000; ++i) ops.push_back(call(i, "test::refuse", {value(1)}, {r(i)}));
  EXPECT_EQ(run(std::move(ops)).failures.size(), 1000u);
  testing::in_session(*session_, [&] { EXPECT_EQ(session_->store().size(), 10u); });
  EXPECT_EQ(session_->budget().used(), 10 * kHandleBytes);
}

TEST_F(SessionTest, AResultThatDoesNotFitPoisonsAllOfItsOperation) {
  SessionWish wish;
  wish.bytes = 2 * kHandleBytes + 512;
  open(wish);
  put(1, {1});
  OpCall pair = call(1, "test::pair", {id(r(1))}, {r(2), r(3)});
  pair.want = Want::kMeta;
  const Outcome outcome = run({pair});
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].error.code(), Code::kResourceExhausted);
  EXPECT_TRUE(outcome.results.empty()) << "nothing is told of an operation that failed";
  EXPECT_EQ(failing(call(2, "test::numel", {id(r(2))})).reason, "POISONED");
  EXPECT_THAT(at(1), ElementsAre(1));
}

TEST_F(SessionTest, HandleQuotaHolds) {
  SessionWish wish;
  wish.handles = 2;
  open(wish);
  put(1, {1});
  put(2, {1});
  EXPECT_EQ(failing(call(1, "test::twice", {id(r(1))}, {r(3)})).error.code(),
            Code::kResourceExhausted);
  uint64_t held = 0;
  testing::in_session(*session_, [&] { held = session_->store().size(); });
  EXPECT_EQ(held, 2u) << "a failure does not take a place either";
}

TEST_F(SessionTest, NewMemoryIsZeroed) {
  EXPECT_TRUE(run({call(1, "test::make", {value(1000)}, {r(1)})}).failures.empty());
  for (const float one : at(1)) ASSERT_EQ(one, 0);
}

TEST_F(SessionTest, UploadsMustMatchTheirShape) {
  const float numbers[] = {1, 2};
  const std::string_view data(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  const InlinePut bad[] = {
      {r(1), "float32", {3}, data, ""},
      {r(2), "float99", {2}, data, ""},
      {r(3), "float32", {-2}, data, ""},
      {r(4), "float32", {int64_t{1} << 40, int64_t{1} << 40}, data, ""},
      {r(5), "float32", std::vector<int64_t>(65, 1), data, ""},
      {r(6), "complex128", {int64_t{1} << 60}, data, ""},
  };
  for (const InlinePut& put : bad) {
    Frame frame;
    frame.puts = {put};
    const Outcome outcome = run(std::move(frame));
    ASSERT_EQ(outcome.failures.size(), 1u);
    EXPECT_EQ(outcome.failures[0].error.code(), Code::kInvalidArgument);
    EXPECT_EQ(outcome.failures[0].id, put.id);
  }
  const Failure failure = failing(call(1, "test::twice", {id(r(1))}));
  EXPECT_EQ(failure.error.code(), Code::kFailedPrecondition) << "the id is poisoned";
}

TEST_F(SessionTest, BoolUploadsAreMadeZeroOrOne) {
  Frame frame;
  frame.puts = {{r(1), "bool", {3}, std::string_view("\x00\x01\x80", 3), ""}};
  EXPECT_TRUE(run(std::move(frame)).failures.empty());
  testing::in_session(*session_, [&] {
    const Tensor tensor = session_->store().tensor_at(r(1));
    EXPECT_EQ(std::memcmp(tensor.raw_data(), "\x00\x01\x01", 3), 0);
  });
}

TEST_F(SessionTest, TheGeneratorIsTheSessions) {
  const auto draw = [&](uint64_t seq) {
    OpCall op = call(seq, "test::draw", {});
    op.want = Want::kValue;
    return run({op}).results.at(0).value.to_int();
  };
  EXPECT_EQ(draw(1), 0);
  EXPECT_EQ(draw(2), 1);
  EXPECT_TRUE(run({call(3, "opyard::manual_seed", {value(7)})}).failures.empty());
  EXPECT_EQ(session_->generator().seed(), 7u);
  EXPECT_EQ(draw(4), 0) << "a seed starts anew";
  const std::shared_ptr<Session> other = yard_.sessions().open({});
  EXPECT_EQ(other->generator().offset(), 0u);
}

TEST_F(SessionTest, NoFrameInheritsThreadStateFromTheOneBefore) {
  const auto is_fresh = [&](uint64_t seq) {
    OpCall fresh = call(seq, "test::fresh_keys", {});
    fresh.want = Want::kValue;
    return run({fresh}).results.at(0).value.to_bool();
  };
  EXPECT_TRUE(is_fresh(1));
  EXPECT_TRUE(run({call(2, "test::leave_keys", {})}).failures.empty());
  EXPECT_TRUE(is_fresh(3));
  const InferenceModeGuard of_the_caller;
  EXPECT_TRUE(is_fresh(4));
}

TEST_F(SessionTest, AnUnreadableCallFailsAloneAndStillPoisons) {
  put(1, {1});
  OpCall broken = call(1, "test::twice", {}, {r(2)});
  broken.unreadable = Error(Code::kInvalidArgument, "a value has no kind");
  const Outcome outcome = run({broken, call(2, "test::twice", {id(r(1))}, {r(3)}),
                               call(3, "test::twice", {id(r(2))}, {r(4)})});
  ASSERT_EQ(outcome.failures.size(), 2u);
  EXPECT_EQ(outcome.failures[0].error.code(), Code::kInvalidArgument);
  EXPECT_EQ(outcome.failures[1].error.code(), Code::kFailedPrecondition);
  EXPECT_THAT(at(3), ElementsAre(2));
}

TEST_F(SessionTest, UnaryCallsMayOvertakeEachOther) {
  Frame frame;
  frame.ops = {call(9, "test::make", {value(1)}, {make_id(0, 9)}),
               call(1, "test::make", {value(1)}, {make_id(0, 3)}),
               call(2, "test::make", {value(1)}, {make_id(0, 3)})};
  Outcome outcome;
  testing::in_session(*session_, [&] { outcome = session_->execute(session_->calls(), frame); });
  ASSERT_EQ(outcome.failures.size(), 1u) << "only the id that was used";
  EXPECT_EQ(outcome.failures[0].error.code(), Code::kAlreadyExists);
}

}  // namespace
}  // namespace opyard::runtime
