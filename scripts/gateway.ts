import { startGateway } from "../gateway/server.ts";
import { HELP, parseGatewayArguments } from "./gateway/arguments.ts";
import { listenFailure } from "./local/listen.ts";

const log = (line: string): void => console.error(`gateway: ${line}`);

const command = parseGatewayArguments(process.argv.slice(2));
if (!command.ok) {
  log(command.error);
  log("--help lists the options");
  process.exit(2);
}
if (command.value.kind === "help") {
  process.stdout.write(HELP);
  process.exit(0);
}

const { listen, upstream } = command.value;
const gateway = await startGateway({ ...command.value, log, audit: console.log });
if (!gateway.ok) {
  log(listenFailure(listen, gateway.error, "choose another address with --listen HOST:PORT"));
  process.exit(1);
}
const target = upstream.kind === "socket" ? `unix:${upstream.path}` : upstream.url.origin;
log(`http://${listen.host}:${gateway.value.port} -> ${target}`);

const stop = async (): Promise<void> => {
  log("stopping");
  await gateway.value.stop();
  process.exit(0);
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
