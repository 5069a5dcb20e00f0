// Counts what Durable Objects do, for the table of costs: never for measuring time.

let cursors = [];
let calls = [];
let alarms = 0;

/** Counts what an object does to its storage. */
function countStorage({ storage }) {
  const { sql } = storage;
  const { exec } = sql;
  sql.exec = (...args) => {
    const cursor = exec.apply(sql, args);
    cursors.push(cursor);
    return cursor;
  };
  const { setAlarm } = storage;
  storage.setAlarm = (...args) => {
    alarms++;
    return setAlarm.apply(storage, args);
  };
}

/** The class with its statements counted, and the calls of its methods: each is one request on the vendor's bill. */
export function counted(Base) {
  const Counted = class extends Base {
    #id;

    constructor(ctx, env) {
      countStorage(ctx);
      super(ctx, env);
      this.#id = `${Base.name} ${ctx.id}`;
    }

    static count(object, method) {
      calls.push({ object: object.#id, method: `${Base.name}.${method}` });
    }
  };
  for (const name of Object.getOwnPropertyNames(Base.prototype)) {
    if (name === "constructor" || typeof Base.prototype[name] !== "function") continue;
    Counted.prototype[name] = function (...args) {
      Counted.count(this, name);
      return Base.prototype[name].apply(this, args);
    };
  }
  return Counted;
}

/** The counts since the last call. */
export function takeCounts() {
  const sum = (key) => cursors.reduce((total, cursor) => total + cursor[key], 0);
  const counts = {
    rowsRead: sum("rowsRead"),
    rowsWritten: sum("rowsWritten"),
    alarms,
    calls: calls.map(({ method }) => method),
    objects: new Set(calls.map(({ object }) => object)).size,
  };
  cursors = [];
  calls = [];
  alarms = 0;
  return counts;
}
