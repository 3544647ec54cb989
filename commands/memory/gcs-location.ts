import { invalid } from '../../domain/refusal.ts';

const GCS_HOST = 'https://storage.googleapis.com';
const BUCKET = /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/;

/** `source`: the part of the location that may be shown, without the query, which contains a signed URL's signature. */
export type RemoteFile = { readonly url: string; readonly filename: string; readonly source: string };

const badUri = () =>
  invalid('/gcs_uri', 'must be gs://bucket/object, or the https URL of an object, for example a signed one', 'invalid_gcs_uri');

const lastName = (path: string): string => path.split('/').at(-1)!;

/** Does not check whether requests may be sent there. @throws Refusal invalid if the text is not such a URI */
export const locateGcsUri = (uri: string): RemoteFile => {
  const [, bucket = '', object = ''] = /^gs:\/\/([^/]+)\/(.+)$/s.exec(uri) ?? [];
  if (bucket !== '') {
    const names = object.split('/');
    // URL parsing removes `.` and `..`, so the request would be for another object.
    if (!BUCKET.test(bucket) || !object.isWellFormed() || names.some((name) => name === '.' || name === '..')) throw badUri();
    return { url: `${GCS_HOST}/${bucket}/${names.map(encodeURIComponent).join('/')}`, filename: lastName(object), source: uri };
  }
  const url = URL.parse(uri);
  if (url?.protocol !== 'https:') throw badUri();
  return { url: uri, filename: lastName(url.pathname), source: `${url.origin}${url.pathname}` };
};
