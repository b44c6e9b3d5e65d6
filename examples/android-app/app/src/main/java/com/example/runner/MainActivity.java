package com.example.runner;

import android.app.Activity;
import android.os.Bundle;
import android.widget.TextView;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;

/** Runs the model in the assets and shows what comes out. */
public class MainActivity extends Activity {
    static {
        System.loadLibrary("runner");
    }

    private native String runModel(String path);

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        TextView view = new TextView(this);
        try {
            view.setText(runModel(copied("linear_xnnpack.pte").getPath()));
        } catch (IOException error) {
            view.setText(error.toString());
        }
        setContentView(view);
    }

    /** ExecuTorch reads models from files; assets are none. */
    private File copied(String name) throws IOException {
        File file = new File(getFilesDir(), name);
        try (InputStream asset = getAssets().open(name)) {
            Files.copy(asset, file.toPath(), StandardCopyOption.REPLACE_EXISTING);
        }
        return file;
    }
}
