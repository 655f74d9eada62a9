// Reads neighbouring ids through drivers of JavaScript, and prints what the program sees.
// The argument is the JSON of Go's type errand. The output has a list of results for
// each way: {way: [[type, text], ...]}.
const errand = JSON.parse(process.argv[2]);
const { ids, table } = errand;

const seen = (values) => values.map((value) => [typeof value, String(value)]);
const column = (rows) => rows.map((row) => row.id);

async function postgres(results) {
  const pg = require('pg');
  const client = new pg.Client({ connectionString: errand.postgres });
  await client.connect();
  const select = `SELECT id FROM ${table} ORDER BY id`;
  results['node-postgres: `SELECT id`'] = seen(column((await client.query(select)).rows));
  const types = { getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)) };
  results['node-postgres with `setTypeParser(20, Number)`: `SELECT id`'] = seen(column((await client.query({ text: select, types })).rows));
  const aggregated = await client.query(`SELECT json_agg(t ORDER BY id) AS all FROM ${table} t`);
  results['node-postgres: `json_agg(t)`'] = seen(column(aggregated.rows[0].all));
  const texts = await client.query(`SELECT json_agg(json_build_object('id', id::text) ORDER BY id) AS all FROM ${table}`);
  results["node-postgres: `json_agg(json_build_object('id', id::text))`"] = seen(column(texts.rows[0].all));
  results['node-postgres: `WHERE id = $1`, with a number'] = await find((id) => client.query(`SELECT id FROM ${table} WHERE id = $1`, [Number(id)]).then((r) => r.rows));
  results['node-postgres: `WHERE id = $1`, with a string'] = await find((id) => client.query(`SELECT id FROM ${table} WHERE id = $1`, [id]).then((r) => r.rows));
  await client.end();
}

async function mysql(results) {
  const mysql = require('mysql2/promise');
  const name = errand.mariadb ? 'MariaDB' : 'MySQL';
  const select = `SELECT id FROM ${table} ORDER BY id`;
  for (const [title, options] of [
    ['mysql2', {}],
    ['mysql2 with `supportBigNumbers`', { supportBigNumbers: true }],
    ['mysql2 with `supportBigNumbers`, `bigNumberStrings`', { supportBigNumbers: true, bigNumberStrings: true }],
  ]) {
    const connection = await mysql.createConnection({ ...errand.mysql, ...options });
    results[`${title}: \`query("SELECT id")\``] = seen(column((await connection.query(select))[0]));
    results[`${title}: \`execute("SELECT id")\``] = seen(column((await connection.execute(select))[0]));
    if (title.endsWith('`bigNumberStrings`')) {
      const [[row]] = await connection.query(`SELECT JSON_ARRAYAGG(id) AS ids FROM ${table}`);
      const all = typeof row.ids === 'string' ? JSON.parse(row.ids) : row.ids;
      results[`${title}, ${name}: \`JSON_ARRAYAGG(id)\``] = seen(all.sort((a, b) => a - b));
      const [[text]] = await connection.query(`SELECT JSON_ARRAYAGG(CAST(id AS CHAR)) AS ids FROM ${table}`);
      const texts = typeof text.ids === 'string' ? JSON.parse(text.ids) : text.ids;
      results[`${title}, ${name}: \`JSON_ARRAYAGG(CAST(id AS CHAR))\``] = seen(texts.sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)));
    }
    if (title === 'mysql2') {
      results['mysql2: `WHERE id = ?`, with a number'] = await find((id) => connection.query(`SELECT CAST(id AS CHAR) AS id FROM ${table} WHERE id = ?`, [Number(id)]).then(([rows]) => rows));
      results['mysql2: `WHERE id = ?`, with a string'] = await find((id) => connection.query(`SELECT CAST(id AS CHAR) AS id FROM ${table} WHERE id = ?`, [id]).then(([rows]) => rows));
    }
    await connection.end();
  }
}

// find looks up each id, and returns the id of the row that was found, or "none". A rounded
// id can be too large for the server, which then returns an error.
async function find(query) {
  const found = [];
  for (const id of ids) {
    const rows = await query(id).catch((error) => [{ id: error.code }]);
    found.push(['row', rows.length === 1 ? String(rows[0].id) : 'none']);
  }
  return found;
}

async function main() {
  const results = {};
  if (errand.postgres) await postgres(results);
  if (errand.mysql) await mysql(results);
  console.log(JSON.stringify(results));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
