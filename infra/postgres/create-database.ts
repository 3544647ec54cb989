import pg from 'pg';

// A program of its own: creates the role and the database of the service if they are missing. An operator may drop the
// database: then the next start creates an empty one, which the projections fill again.
const { SUPERUSER_URL, DATABASE_NAME = '', ROLE_PASSWORD = '' } = process.env;

const client = new pg.Client({ connectionString: SUPERUSER_URL, connectionTimeoutMillis: 10_000 });
client.on('error', () => {});

const exists = async (sql: string): Promise<boolean> => (await client.query(sql, [DATABASE_NAME])).rowCount === 1;

const createMissing = async (): Promise<void> => {
  const name = client.escapeIdentifier(DATABASE_NAME);
  if (!(await exists('select from pg_roles where rolname = $1')))
    await client.query(`create role ${name} login password ${client.escapeLiteral(ROLE_PASSWORD)}`);
  if (!(await exists('select from pg_database where datname = $1'))) await client.query(`create database ${name} owner ${name}`);
};

await client.connect();
await createMissing().finally(() => client.end());
