import { unstable_readConfig } from "wrangler";

// Prints what the wrangler.toml that it is given says, as JSON; the reason on standard error when it can't be read.
try {
  const [config = ""] = process.argv.slice(2);
  process.stdout.write(JSON.stringify(unstable_readConfig({ config }, { hideWarnings: true })));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
