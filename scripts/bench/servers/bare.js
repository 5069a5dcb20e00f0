import { DurableObject } from "cloudflare:workers";

// What the platform itself costs: the same runtime, and as little code as does the work at all.

const STATIC = JSON.stringify({ data: { answer: "static" } });
const JSON_HEADERS = { "Content-Type": "application/json" };

let count = 0;
/** Objects of "/passing-object" that "/object-again" has not written to. */
let passing = 0;

/** An object with one table. */
export class Cell extends DurableObject {
  #sql;

  constructor(ctx, env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS cells (id INTEGER PRIMARY KEY, value TEXT NOT NULL)");
  }

  /** Reads a row. */
  read(id) {
    return this.#sql.exec("SELECT value FROM cells WHERE id = ?", id).toArray()[0]?.value ?? null;
  }

  /** Writes a row that is there already. */
  write(id, value) {
    this.#sql.exec(
      "INSERT INTO cells (id, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
      id,
      value,
    );
    return id;
  }

  /** Writes a new row. */
  add(value) {
    return this.#sql.exec("INSERT INTO cells (value) VALUES (?) RETURNING id", value).one().id;
  }
}

async function answer(url, env) {
  const cell = (name) => env.CELL.getByName(name);
  // Another one each time: SQLite writes nothing when nothing changes.
  const value = `a value of some fifty characters ${count++}`;
  switch (url.pathname) {
    case "/static":
      return null;
    case "/read":
      return cell("one").read(1);
    case "/read-many":
      return cell(`cell ${count % 64}`).read(1);
    case "/write":
      return cell("one").write(1, value);
    case "/two-writes":
      return Promise.all([cell("two-a").add(value), cell("two-b").add(value)]);
    case "/new-object":
      return env.CELL.get(env.CELL.newUniqueId()).add(value);
    case "/passing-object":
      return cell(`passing ${passing++}`).add(value);
    case "/object-again":
      return cell(`passing ${--passing}`).add(value);
    default:
      return null;
  }
}

export default {
  async fetch(request, env) {
    const data = await answer(new URL(request.url), env);
    return new Response(data === null ? STATIC : JSON.stringify({ data }), { headers: JSON_HEADERS });
  },
};
