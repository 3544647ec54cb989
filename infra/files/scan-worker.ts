import { parentPort } from 'node:worker_threads';
import { type FileToScan, findThreats } from '../../commands/files/find-threats.ts';
import { unpackZip } from '../archives/unpack-zip.ts';
import { detectContentType } from '../blobs/detect-content-type.ts';

/** An error ends the thread. */
parentPort!.on('message', async (file: FileToScan) =>
  parentPort!.postMessage(await findThreats({ unpack: unpackZip, detectContentType }, file)),
);
