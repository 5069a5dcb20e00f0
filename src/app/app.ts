import { Hono } from "hono";
import { err } from "../base/result.ts";
import { failureOfException } from "../wire/exception.ts";
import { BASE_PATHS } from "../wire/request.ts";
import { respond } from "./answer.ts";
import { consolePages } from "./console.ts";
import type { AppEnv } from "./context.ts";
import { arrival } from "./middleware/arrival.ts";
import { audit } from "./middleware/audit.ts";
import { beginOnce } from "./middleware/begin-once.ts";
import { faults } from "./middleware/faults.ts";
import { installation } from "./middleware/installation.ts";
import { limitRequests } from "./middleware/limits.ts";
import { metrics } from "./middleware/metrics.ts";
import { request } from "./middleware/request.ts";
import { TABLES } from "./routes.ts";
import { routingPath } from "./routing-path.ts";
import { serveMount, serveNothing, serveTable } from "./serve.ts";

/** The HTTP side of the Worker: the way of a request, from top to bottom. */
export const app = new Hono<AppEnv>({ getPath: routingPath });

// A gateway repeats a request whose connection was lost: it must not act twice.
app.use(beginOnce);
// The console needs neither keys nor objects: browsers get it while the service is sealed, too.
app.route("/", consolePages);

// What surrounds every request of the API.
app.use(
  arrival, // reads the head; a request goes on when its client disconnects
  audit, // writes the last audit line
  metrics,
  faults, // whatever is thrown below gets to onError
  installation, // loads policies, mounts and keys; refuses everything without a seal key
  limitRequests, // before the body is read
  request, // reads token and fields in the dialect of the path
);

const api = new Hono<AppEnv>();
for (const [place, table] of TABLES.byPlace) api.route(place, new Hono<AppEnv>().all("*", serveTable(table)));
api.all("/auth/*", serveMount);
for (const base of BASE_PATHS) app.route(base, api);

app.notFound(serveNothing);
app.onError((error, c) =>
  respond(c, { ...c.get("answer"), result: err(failureOfException(error, c.get("requestId"))) }),
);
