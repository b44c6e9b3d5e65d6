// Loads the bundled model, runs it once and shows what comes out, or why it does not run.

#import <UIKit/UIKit.h>

#include "../etfetch_registration_check.h"

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <sstream>
#include <string>
#include <vector>

using executorch::extension::Module;
using executorch::extension::from_blob;
using executorch::runtime::Error;

static void note_missing(const etfetch::MissingRegistration& missing, void* context) {
  auto& text = *static_cast<std::ostringstream*>(context);
  text << "not registered: " << missing.kind << " " << missing.name << " (" << missing.component << ")\n";
}

static std::string run_model(const std::string& path) {
  std::ostringstream text;
  etfetch::etfetch_check_registration(note_missing, &text);
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

@interface AppDelegate : UIResponder <UIApplicationDelegate>
@property(strong, nonatomic) UIWindow* window;
@end

@implementation AppDelegate

- (BOOL)application:(UIApplication*)application didFinishLaunchingWithOptions:(NSDictionary*)options {
  NSString* path = [NSBundle.mainBundle pathForResource:@"linear_xnnpack" ofType:@"pte"];
  UITextView* view = [[UITextView alloc] init];
  view.editable = NO;
  view.text = @(run_model(path.UTF8String).c_str());
  UIViewController* controller = [[UIViewController alloc] init];
  controller.view = view;
  self.window = [[UIWindow alloc] initWithFrame:UIScreen.mainScreen.bounds];
  self.window.rootViewController = controller;
  [self.window makeKeyAndVisible];
  return YES;
}

@end

int main(int argc, char* argv[]) {
  @autoreleasepool {
    return UIApplicationMain(argc, argv, nil, NSStringFromClass(AppDelegate.class));
  }
}
