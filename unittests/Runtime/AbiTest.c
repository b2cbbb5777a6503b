/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled where the CUDA toolkit is installed: what the runtime declares of
 * the driver agrees with cuda.h. Nothing runs. */

#include "Driver.h"
#include <cuda.h>

#define SAME(theirs, ours)                                                     \
  _Static_assert((long)(theirs) == (long)(ours), #theirs)

SAME(sizeof(CUtensorMap), sizeof(fa3_cu_tensor_map));
SAME(sizeof(CUlaunchConfig), sizeof(fa3_cu_launch_config));
SAME(offsetof(CUlaunchConfig, gridDimX), offsetof(fa3_cu_launch_config, grid));
SAME(offsetof(CUlaunchConfig, blockDimX),
     offsetof(fa3_cu_launch_config, block));
SAME(offsetof(CUlaunchConfig, sharedMemBytes),
     offsetof(fa3_cu_launch_config, smem));
SAME(offsetof(CUlaunchConfig, hStream), offsetof(fa3_cu_launch_config, stream));
SAME(offsetof(CUlaunchConfig, attrs),
     offsetof(fa3_cu_launch_config, attributes));
SAME(offsetof(CUlaunchConfig, numAttrs),
     offsetof(fa3_cu_launch_config, num_attributes));
SAME(sizeof(CUlaunchAttribute), sizeof(fa3_cu_launch_attribute));
SAME(offsetof(CUlaunchAttribute, value),
     offsetof(fa3_cu_launch_attribute, value));
SAME(sizeof(CUdeviceptr), sizeof(fa3_device_address));
SAME(sizeof(CUdevice), sizeof(fa3_cu_device));

SAME(CUDA_SUCCESS, FA3_CU_SUCCESS);
SAME(CUDA_ERROR_INVALID_VALUE, FA3_CU_INVALID_VALUE);
SAME(CUDA_ERROR_NO_DEVICE, FA3_CU_NO_DEVICE);
SAME(CUDA_ERROR_NOT_FOUND, FA3_CU_NOT_FOUND);
SAME(CU_JIT_ERROR_LOG_BUFFER, FA3_CU_JIT_ERROR_LOG);
SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, FA3_CU_JIT_ERROR_LOG_SIZE);
SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, FA3_CU_DEVICE_SMS);
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, FA3_CU_DEVICE_COMPUTE_MAJOR);
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, FA3_CU_DEVICE_COMPUTE_MINOR);
SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     FA3_CU_DEVICE_MAX_SMEM);
SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, FA3_CU_FUNCTION_MAX_SMEM);
SAME(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, FA3_CU_LAUNCH_CLUSTER);
SAME(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
     FA3_CU_LAUNCH_EARLY);
SAME(CU_STREAM_NON_BLOCKING, FA3_CU_STREAM_NON_BLOCKING);
SAME(CU_STREAM_CAPTURE_MODE_RELAXED, FA3_CU_STREAM_CAPTURE_RELAXED);
SAME(CU_TENSOR_MAP_L2_PROMOTION_L2_256B, FA3_CU_MAP_L2_PROMOTION_256B);
SAME(CU_TENSOR_MAP_SWIZZLE_128B, 3);
SAME(CU_TENSOR_MAP_INTERLEAVE_NONE, 0);
SAME(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0);
SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 6);
SAME(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9);
SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7);
SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8);
SAME(CU_TENSOR_MAP_DATA_TYPE_UINT8, 0);
SAME(CU_TENSOR_MAP_DATA_TYPE_UINT16, 1);
SAME(CU_TENSOR_MAP_DATA_TYPE_INT32, 3);
SAME(CU_TENSOR_MAP_DATA_TYPE_INT64, 5);
