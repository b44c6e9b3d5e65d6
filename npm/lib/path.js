'use strict';

const fs = require('fs');
const path = require('path');

/**
 * The programs of a name on PATH, in order, without those that npm packages put there: `etfetch`
 * among them is this package again. On Windows only `.exe`, since Node runs scripts there through
 * a shell, which would read the arguments once more.
 * @returns {string[]} absolute paths
 */
function onPath(name, env) {
  const windows = process.platform === 'win32';
  const variable = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') || 'PATH';
  const folders = (env[variable] || '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders
    .map((folder) => path.join(folder, windows ? `${name}.exe` : name))
    .filter((file) => isProgram(file) && !isOfNpm(file));
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function isOfNpm(file) {
  return [file, fs.realpathSync(file)].some((name) => name.split(path.sep).includes('node_modules'));
}

module.exports = { onPath };
