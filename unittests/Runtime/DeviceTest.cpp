//===- DeviceTest.cpp - what the runtime says of a device -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FakeCudaTest.h"

using namespace fa3test;

namespace {

class DeviceTest : public FakeCudaTest {};

TEST_F(DeviceTest, DeviceHelpers) {
  fa3_status status;
  int32_t count = 0;
  ASSERT_EQ(fa3_device_count(&count, &status), FA3_OK);
  EXPECT_EQ(count, 2);
  fa3_device_info info;
  ASSERT_EQ(fa3_device_query(1, &info, &status), FA3_OK);
  EXPECT_STREQ(info.name, "fake device 1");
  EXPECT_EQ(info.sms, 132);
  EXPECT_EQ(info.compute_major, 9);
  EXPECT_EQ(info.max_smem, 232448);
  EXPECT_EQ(info.driver_version, 13000);
  EXPECT_EQ(fa3_device_query(2, &info, &status), FA3_ERROR_DRIVER);
  fa3_device_address address = 0;
  EXPECT_EQ(fa3_device_alloc(64, &address, &status), FA3_ERROR_DRIVER);
  ASSERT_EQ(fa3_device_initialize(1, &status), FA3_OK);
  EXPECT_EQ(fakeCudaCurrent(), 2);
  ASSERT_EQ(fa3_device_alloc(64, &address, &status), FA3_OK);
  EXPECT_EQ(fa3_device_fill(address, 7, 64, &status), FA3_OK);
  EXPECT_EQ(fa3_device_upload(address, "abc", 3, &status), FA3_OK);
  char back[5] = {};
  EXPECT_EQ(fa3_device_download(back, address, 4, &status), FA3_OK);
  EXPECT_STREQ(back, "abc\7");
  EXPECT_EQ(fa3_device_free(address, &status), FA3_OK);
  EXPECT_EQ(fa3_device_free(address, &status), FA3_ERROR_DRIVER);

  void *stream = nullptr, *start = nullptr, *end = nullptr;
  EXPECT_EQ(fa3_device_stream_create(&stream, &status), FA3_OK);
  EXPECT_EQ(fa3_device_event_create(&start, &status), FA3_OK);
  EXPECT_EQ(fa3_device_event_create(&end, &status), FA3_OK);
  // The driver knows what it has to get back.
  EXPECT_EQ(fakeCudaLiveStreams(), 1);
  EXPECT_EQ(fakeCudaLiveEvents(), 2);
  EXPECT_EQ(fa3_device_event_record(start, stream, &status), FA3_OK);
  EXPECT_EQ(fa3_device_event_record(end, stream, &status), FA3_OK);
  EXPECT_EQ(fa3_device_event_synchronize(end, &status), FA3_OK);
  float milliseconds = 0;
  EXPECT_EQ(fa3_device_event_elapsed(start, end, &milliseconds, &status),
            FA3_OK);
  EXPECT_EQ(milliseconds, 1.5f);
  EXPECT_EQ(fa3_device_stream_synchronize(stream, &status), FA3_OK);
  EXPECT_EQ(fa3_device_event_destroy(start, &status), FA3_OK);
  EXPECT_EQ(fa3_device_event_destroy(end, &status), FA3_OK);
  EXPECT_EQ(fa3_device_event_destroy(end, &status), FA3_ERROR_DRIVER);
  EXPECT_EQ(fa3_device_stream_destroy(stream, &status), FA3_OK);
  EXPECT_EQ(fa3_device_stream_destroy(stream, &status), FA3_ERROR_DRIVER);
  EXPECT_EQ(fa3_device_synchronize(&status), FA3_OK);
  EXPECT_EQ(fa3_device_release(1, &status), FA3_OK);
  fakeCudaSetCurrent(0);
  EXPECT_EQ(fa3_device_alloc(64, nullptr, &status), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fa3_device_count(nullptr, nullptr), FA3_ERROR_ARGUMENT);
}

} // namespace
