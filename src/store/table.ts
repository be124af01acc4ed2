// One description per record: its columns, which of them change, and how a row becomes the record. Every statement that
// writes a record, and the columns of every one that reads it, are made from that.

export type SqlValue = string | number | null

export interface Column<W, V extends SqlValue = SqlValue> {
  value: (record: W) => V
  /** What an update sets it to, with a `?` for each value of `updateValue`; null: it is written once. */
  update: string | null
  updateValue: (record: W) => SqlValue | SqlValue[]
  /** The expression that is read in place of it; null: it is stored. */
  found: string | null
}

/** Written with the record's first version, and never again. */
export function fixed<W, V extends SqlValue>(value: (record: W) => V): Column<W, V> {
  return { value, update: null, updateValue: value, found: null }
}

/** Written with every version; `update` where an update sets it to something else than its value. */
export function changing<W, V extends SqlValue>(
  value: (record: W) => V,
  update = '?',
  updateValue: (record: W) => SqlValue | SqlValue[] = value,
): Column<W, V> {
  return { value, update, updateValue, found: null }
}

/** Never written: other records say it, by this expression. */
export function found<W, V extends SqlValue>(expression: string): Column<W, V | null> {
  return { value: () => null, update: null, updateValue: () => null, found: expression }
}

export type RowOf<C> = { [N in keyof C]: C[N] extends Column<never, infer V> ? V : never }

/** `W` is what is written, `R` what is read back. */
export interface Table<W, R = W> {
  name: string
  insert: string
  insertValues(record: W): SqlValue[]
  /** Sets what changes. The values of the key come last. */
  update: string
  updateValues(record: W): SqlValue[]
  /** The condition on the key's columns, each a `?`. */
  whereKey: string
  keyValues(record: W): SqlValue[]
  keySize: number
  /** Every column, to stand in a SELECT whose rows come as arrays; `replaced` has expressions to read in place of some. */
  columns(replaced?: Record<string, string>): string
  /** From such an array; `from` is the place of the first column. */
  read(row: SqlValue[], from?: number): R
}

/** Called twice, so that the record's type is given and the columns' types are found. */
export function describe<W, R = W>() {
  return <C extends Record<string, Column<W>>>(description: {
    name: string
    key: (keyof C & string)[]
    columns: C
    /** Columns that an insert takes behind those of the record, which knows nothing of them. */
    more?: string[]
    toRecord: (row: RowOf<C>) => R
  }): Table<W, R> => {
    const { name, key, more = [], toRecord } = description
    const names = Object.keys(description.columns)
    const stored = names.filter((column) => description.columns[column]!.found === null)
    const columns = stored.map((column) => description.columns[column]!)
    const updated = stored.filter((_, index) => columns[index]!.update !== null)
    const written = [...updated.map((column) => description.columns[column]!.updateValue), ...key.map(valueOf)]
    const whereKey = key.map((column) => `${column} = ?`).join(' AND ')

    function valueOf(column: string): (record: W) => SqlValue {
      return description.columns[column]!.value
    }

    return {
      name,
      insert: `INSERT INTO ${name} (${[...stored, ...more].join(', ')})
        VALUES (${[...stored, ...more].map(() => '?').join(', ')})`,
      insertValues: (record) => columns.map(({ value }) => value(record)),
      update: `UPDATE ${name} SET ${updated.map((column) => `${column} = ${description.columns[column]!.update!}`).join(', ')}
        WHERE ${whereKey}`,
      updateValues: (record) => written.flatMap((value) => value(record)),
      whereKey,
      keyValues: (record) => key.map((column) => valueOf(column)(record)),
      keySize: key.length,
      columns: (replaced = {}) =>
        names.map((column) => replaced[column] ?? description.columns[column]!.found ?? `${name}.${column}`).join(', '),
      read(row, from = 0) {
        const named: Record<string, SqlValue> = {}
        for (let index = 0; index < names.length; index++) named[names[index]!] = row[from + index]!
        return toRecord(named as RowOf<C>)
      },
    }
  }
}
