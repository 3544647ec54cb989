import pg from 'pg';

// This program creates the role and the database of Annals if they do not exist. If an operator has dropped the
// database, the projections fill the new, empty database from the log.
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
