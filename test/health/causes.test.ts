import { writeFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { BlobBackend } from '../../infra/blobs/blob-backend.ts';
import { ObjectStoreError } from '../../infra/blobs/object-store-error.ts';
import { classify } from '../../infra/eventstore/errors.ts';
import { checkBlobPlace } from '../../infra/health/blob-check.ts';
import { storeAdvice } from '../../infra/health/store-failure.ts';
import { databaseCause } from '../../infra/postgres/database-cause.ts';
import { isUnavailable } from '../../infra/postgres/pool.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const withCode = (code: string, message = 'could not open file "base/5/1259": Permission denied'): Error =>
  Object.assign(new Error(message), { code });

const DATABASE_ERRORS: readonly (readonly [sqlState: string, advice: RegExp])[] = [
  ['53100', /free disk space/],
  ['53200', /more memory/],
  ['53000', /open files/],
  ['53300', /raise max_connections/],
  ['25006', /name the primary server/],
  ['42501', /restore the permissions of the files/],
  ['58030', /check its disk/],
  ['58P01', /check its disk/],
  ['XX001', /check its disk/],
  ['XX002', /check its disk/],
  ['57P01', /wait for it/],
  ['57P02', /wait for it/],
  ['57P03', /wait for it/],
  ['57014', /long queries/],
  ['28P01', /user and the password in DATABASE_URL/],
  ['28000', /user and the password in DATABASE_URL/],
  ['3D000', /create the database/],
  ['08006', /read the log/],
  ['25P03', /read the log/],
];

for (const [sqlState, advice] of DATABASE_ERRORS)
  test(`the database error ${sqlState} means that the database is unavailable, and has its own advice`, () => {
    assert.is(isUnavailable(withCode(sqlState)), true);
    assert.match(databaseCause(withCode(sqlState))!.advice, advice);
  });

for (const sqlState of ['22001', '23505', '42601', '42P01', 'XX000', ''])
  test(`the database error "${sqlState}" is an error of the statement`, () => {
    assert.is(isUnavailable(withCode(sqlState)), false);
    assert.is(databaseCause(withCode(sqlState)), null);
  });

const STORE_ERRORS: readonly (readonly [message: string, advice: RegExp])[] = [
  ['7 PERMISSION_DENIED: Access Denied', /name a user of the group \$admins/],
  ['16 UNAUTHENTICATED: Unauthenticated', /correct them/],
  ['8 RESOURCE_EXHAUSTED: out of memory', /free disk space and memory/],
  ['14 UNAVAILABLE: No space left on device', /free disk space/],
  ['14 UNAVAILABLE: Name resolution failed', /correct the host/],
  ['14 UNAVAILABLE: self-signed certificate', /tlsCAFile/],
];

for (const [message, advice] of STORE_ERRORS)
  test(`the error "${message}" of the event store means that it is unavailable, and has its own advice`, () => {
    const error = classify(new Error(message));
    assert.is(error.kind, 'unavailable');
    assert.match(storeAdvice(error)!, advice);
  });

const BUCKET = 'https://key:secret@objects.example/files?region=eu';

const FILE_ERRORS: readonly (readonly [error: Error, blobsUrl: string, advice: RegExp])[] = [
  [withCode('ENOSPC'), 'file:///srv/files', /^free disk space for \/srv\/files$/],
  [withCode('EDQUOT'), 'file:///srv/files', /^free disk space/],
  [withCode('EACCES'), 'file:///srv/files', /^make \/srv\/files readable and writable/],
  [withCode('EPERM'), 'file:///srv/files', /readable and writable/],
  [withCode('EROFS'), 'file:///srv/files', /its file system is read-only/],
  [withCode('EIO'), 'file:///srv/files', /^check the disk/],
  [withCode('EMFILE'), 'file:///srv/files', /limit of open files/],
  [withCode('ENOTDIR'), 'file:///srv/files', /^create the directory/],
  [withCode('ENOSPC'), BUCKET, /^free disk space for .*drafts/],
  [new ObjectStoreError(0, '', 'cannot be reached'), BUCKET, /start the object store/],
  [new ObjectStoreError(403, 'AccessDenied', 'refused'), BUCKET, /grant it access to the bucket files/],
  [new ObjectStoreError(404, 'NoSuchBucket', 'missing'), BUCKET, /create the bucket files/],
  [new ObjectStoreError(503, 'SlowDown', 'busy'), BUCKET, /wait for the object store/],
  [new ObjectStoreError(400, 'Other', 'wrong'), BUCKET, /correct BLOBS_URL/],
];

for (const [error, blobsUrl, advice] of FILE_ERRORS)
  test(`the advice about ${error.name} ${(error as NodeJS.ErrnoException).code} of ${blobsUrl.slice(0, 5)} follows from the cause`, async () => {
    const place = { drafts: `${createTempDirectory().dir}/drafts`, backend: {} as BlobBackend } as unknown as Parameters<
      typeof checkBlobPlace
    >[0];
    const result = await checkBlobPlace(place, blobsUrl, () => Promise.reject(error));
    assert.is(result.level, 'fail');
    assert.match(result.advice!, advice);
  });

test('an error of the directory for unfinished files names that directory, also if the files go to a bucket', async () => {
  const { dir } = createTempDirectory();
  writeFileSync(`${dir}/file`, '');
  const place = { drafts: `${dir}/file/drafts`, backend: {} as BlobBackend } as unknown as Parameters<typeof checkBlobPlace>[0];
  assert.match((await checkBlobPlace(place, BUCKET)).advice!, /^create the directory .*drafts/);
});

test.run();
