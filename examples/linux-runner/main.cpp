// Runs a model on inputs from a text file and compares what comes out with what should.
//
//   runner MODEL.pte CASE.txt
//
// A case has a line for each tensor of 32-bit floats: `input` or `output`, its shape, its values.
//
//   input 2x3 0.5 1 1.5 2 2.5 3
//   output 2x1 3 7.5
//
// Exit codes: 0 as expected, 1 other outputs, 2 wrong arguments or files, 3 the model does not load or run.

#include "etfetch_registration_check.h"

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;

namespace {

constexpr float kTolerance = 1e-5f;

struct Tensor {
  std::vector<executorch::aten::SizesType> shape;
  std::vector<float> values;
};

struct Case {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

Tensor read_tensor(std::istringstream& words) {
  Tensor tensor;
  std::string shape;
  words >> shape;
  std::istringstream sizes(shape);
  for (std::string size; std::getline(sizes, size, 'x');) {
    tensor.shape.push_back(std::stoi(size));
  }
  for (float value; words >> value;) {
    tensor.values.push_back(value);
  }
  return tensor;
}

bool read_case(const char* path, Case& found) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "input") {
      found.inputs.push_back(read_tensor(words));
    } else if (what == "output") {
      found.outputs.push_back(read_tensor(words));
    }
  }
  return !found.outputs.empty();
}

void tell_missing(const etfetch::MissingRegistration& missing, void*) {
  std::fprintf(stderr, "not registered: %s %s (%s)\n", missing.kind, missing.name, missing.component);
}

int fail(const char* step, Error error) {
  std::fprintf(stderr, "%s failed: 0x%x\n", step, static_cast<unsigned>(error));
  return 3;
}

bool is_close(const EValue& found, const Tensor& expected) {
  const auto tensor = found.toTensor();
  if (static_cast<size_t>(tensor.numel()) != expected.values.size()) {
    return false;
  }
  const float* values = tensor.const_data_ptr<float>();
  bool close = true;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    std::printf("%s%.7g", i == 0 ? "" : " ", values[i]);
    close = close && std::fabs(values[i] - expected.values[i]) <= kTolerance;
  }
  std::printf("\n");
  return close;
}

} // namespace

int main(int argc, char** argv) {
  Case tensors;
  if (argc != 3 || !read_case(argv[2], tensors)) {
    std::fprintf(stderr, "usage: %s MODEL.pte CASE.txt\n", argv[0]);
    return 2;
  }
  etfetch::etfetch_check_registration(tell_missing);

  Module module(argv[1]);
  const Error loaded = module.load_method("forward");
  if (loaded != Error::Ok) {
    return fail("load_method", loaded);
  }
  std::vector<TensorPtr> kept; // the tensors that the inputs refer to
  std::vector<EValue> inputs;
  for (Tensor& input : tensors.inputs) {
    kept.push_back(executorch::extension::from_blob(input.values.data(), input.shape));
    inputs.push_back(kept.back());
  }
  const auto outputs = module.forward(inputs);
  if (!outputs.ok()) {
    return fail("forward", outputs.error());
  }
  bool as_expected = outputs->size() == tensors.outputs.size();
  for (size_t i = 0; as_expected && i < outputs->size(); ++i) {
    as_expected = is_close(outputs->at(i), tensors.outputs[i]);
  }
  std::puts(as_expected ? "as expected" : "NOT as expected");
  return as_expected ? 0 : 1;
}
