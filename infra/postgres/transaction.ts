import type { Socket } from 'node:net';
import pg from 'pg';

/** A named statement with its values as text. */
export type Statement = { readonly name: string; readonly text: string; readonly values: readonly string[] };

/** What is called of the driver's connection; its types tell of an older one. */
type Wire = {
  readonly stream: Pick<Socket, 'cork' | 'uncork' | 'destroy' | 'writableLength'>;
  readonly parsedStatements: Record<string, string>;
  readonly close: (what: { type: 'S'; name: string }) => void;
  readonly parse: (statement: Pick<Statement, 'name' | 'text'>) => void;
  readonly bind: (of: { statement: string; values: readonly string[] }) => void;
  readonly execute: (of: { rows?: number }) => void;
  readonly sync: () => void;
};

/** So much is gathered before it leaves: each write wakes the server, but of a large batch it should have the beginning early. */
const PART = 64 << 10;

const unparsed = ({ parsedStatements }: Wire, statements: readonly Statement[]): Map<string, string> =>
  new Map(statements.flatMap(({ name, text }) => (parsedStatements[name] ? [] : [[name, text]])));

const send = (wire: Wire, statements: readonly Statement[], missing: ReadonlyMap<string, string>): void => {
  for (const [name, text] of missing) {
    // A transaction that failed may have left it there.
    wire.close({ type: 'S', name });
    wire.parse({ name, text });
  }
  for (const { name, values } of statements) {
    wire.bind({ statement: name, values });
    wire.execute({});
    if (wire.stream.writableLength < PART) continue;
    wire.stream.uncork();
    wire.stream.cork();
  }
  wire.sync();
};

/** Gathers what `work` writes. What broke off half-way would be ended by the next query's Sync: its connection is given up instead. */
const corked = ({ stream }: Wire, work: () => void): void => {
  stream.cork();
  try {
    work();
  } catch (error) {
    stream.destroy();
    throw error;
  }
  stream.uncork();
};

/**
 * Runs statements in one transaction and one round trip, without asking for their rows: PostgreSQL's extended protocol makes one of all that
 * is sent before a Sync. With a query each, and `begin` and `commit` around them, every one would be answered by itself.
 * @throws the first statement's error that failed: then nothing was done · the connection's own
 */
export const inTransaction = (client: pg.Client, statements: readonly Statement[]): Promise<void> =>
  new Promise((resolve, reject) => {
    let parsed: () => void = () => {};
    const query = new pg.Query('', (error) => {
      if (error) return reject(error);
      parsed();
      resolve();
    });
    client.query(
      Object.assign(query, {
        submit: (connection: unknown) => {
          const wire = connection as Wire;
          const missing = unparsed(wire, statements);
          parsed = () => void Object.assign(wire.parsedStatements, Object.fromEntries(missing));
          corked(wire, () => send(wire, statements, missing));
          return null;
        },
        handleRowDescription: () => {},
        handleDataRow: () => {},
      }),
    );
  });
