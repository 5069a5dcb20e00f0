export const NEW_HELP = `Usage: grove new DIR

Makes the folder of an installation: settings (wrangler.toml), secrets that are not for git (secrets.env), this release as a
dependency (package.json, with its archive unless it came from a registry), an example of what it can begin with (start.hcl), and what to do with it (README.md).

Example:
  grove new my-grove
`;
