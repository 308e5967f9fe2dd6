// Jest's transformer: the same type stripping that Node does at run time, so tests and service run the same code.
const { stripTypeScriptTypes } = require("node:module");

module.exports = {
  process: (source) => ({ code: stripTypeScriptTypes(source, { mode: "strip" }) }),
  getCacheKey: (source, path, { configString }) =>
    require("node:crypto")
      .createHash("sha256")
      .update(source)
      .update(path)
      .update(configString)
      .digest("hex"),
};
