// Runs a model on an input of ones and gives what comes out as text, or why it does not run.

#include <jni.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <sstream>
#include <string>
#include <vector>

using executorch::extension::Module;
using executorch::extension::from_blob;
using executorch::runtime::Error;

static std::string run_model(const std::string& path) {
  std::ostringstream text;
  Module module(path);
  const Error loaded = module.load_method("forward");
  if (loaded != Error::Ok) {
    text << "load_method failed: 0x" << std::hex << static_cast<int>(loaded);
    return text.str();
  }
  std::vector<float> values(16, 1.0f);
  auto input = from_blob(values.data(), {2, 8});
  const auto outputs = module.forward(input);
  if (!outputs.ok()) {
    text << "forward failed: 0x" << std::hex << static_cast<int>(outputs.error());
    return text.str();
  }
  const auto tensor = outputs->at(0).toTensor();
  for (ssize_t i = 0; i < tensor.numel(); ++i) {
    text << tensor.const_data_ptr<float>()[i] << "\n";
  }
  return text.str();
}

extern "C" JNIEXPORT jstring JNICALL
Java_com_example_runner_MainActivity_runModel(JNIEnv* env, jobject, jstring path) {
  const char* chars = env->GetStringUTFChars(path, nullptr);
  const std::string text = run_model(chars);
  env->ReleaseStringUTFChars(path, chars);
  return env->NewStringUTF(text.c_str());
}
