import { startGateway } from "../gateway/server.ts";
import { type GatewayCommand, HELP, parseGatewayArguments } from "./gateway/arguments.ts";
import { runCommand } from "./local/command-line.ts";
import { listenFailure } from "./local/listen-address.ts";
import { askedToStop } from "./local/run-server.ts";

const say = (line: string): void => console.error(`gateway: ${line}`);

async function run(command: GatewayCommand): Promise<number> {
  const { listen, upstream } = command;
  const asked = askedToStop();
  const gateway = await startGateway({ ...command, log: say, audit: console.log });
  if (!gateway.ok) {
    say(listenFailure(listen, gateway.error, "choose another address with --listen HOST:PORT"));
    return 1;
  }
  const target = upstream.kind === "socket" ? `unix:${upstream.path}` : upstream.url.origin;
  say(`http://${listen.host}:${gateway.value.port} -> ${target}`);
  await asked;
  say("stopping");
  await gateway.value.stop();
  return 0;
}

process.exit(await runCommand(parseGatewayArguments(process.argv.slice(2)), HELP, say, run));
