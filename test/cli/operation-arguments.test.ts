import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsIn } from '../../infra/cli/api/api-document.ts';
import { requestOf } from '../../infra/cli/api/operation-arguments.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';

test('annals api names a file that it cannot read', async () => {
  const scan = operationsIn(openapiDocument()).find(({ name }) => name === 'scanFile')!;
  for (const path of ['/no/such/file.zip', '']) {
    const words = ['--tenant-id', 'x', `--upload=${path}`];
    await requestOf(scan, words, async (source) => source).then(
      () => assert.unreachable(),
      (error: Error) => assert.is(error.message, `${path} cannot be read`),
    );
  }
});

test.run();
