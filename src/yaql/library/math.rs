//! Arithmetic, bits and rounding.

use num_bigint::BigInt;

use crate::python::arithmetic;
use crate::python::number::PyNumber;
use crate::python::numeral;
use crate::yaql::call::Call;
use crate::yaql::error::Error;
use crate::yaql::signature::{Default, Function, Outcome, Parameter, any, function, int, number};
use crate::yaql::value::Value;

const NUMBERS: &[Parameter] = &[number("left"), number("right")];
const INTEGERS: &[Parameter] = &[int("left"), int("right")];
const SHIFT: &[Parameter] = &[int("value"), int("bitsNumber")];

pub(super) const FUNCTIONS: &[Function] = &[
    function("#operator_+", NUMBERS, |call| {
        Ok(arithmetic::add(&call.number(0), &call.number(1))?.into())
    }),
    function("#operator_-", NUMBERS, |call| {
        Ok(arithmetic::subtract(&call.number(0), &call.number(1))?.into())
    }),
    function("#operator_*", NUMBERS, |call| {
        pay_for_product(call)?;
        Ok(arithmetic::multiply(&call.number(0), &call.number(1))?.into())
    }),
    function("#operator_/", NUMBERS, |call| {
        pay_for_product(call)?;
        Ok(arithmetic::divide(&call.number(0), &call.number(1))?.into())
    }),
    function("#operator_mod", NUMBERS, |call| {
        pay_for_product(call)?;
        Ok(arithmetic::modulo(&call.number(0), &call.number(1))?.into())
    }),
    function("#unary_operator_+", &[number("op")], |call| Ok(call.owned(0))),
    function("#unary_operator_-", &[number("op")], |call| {
        Ok(arithmetic::negate(&call.number(0)).into())
    }),
    function("abs", &[number("op")], |call| {
        Ok(arithmetic::absolute(&call.number(0)).into())
    }),
    function("sign", &[number("num")], |call| {
        Ok(Value::int(arithmetic::sign(&call.number(0))))
    }),
    function("pow", &[number("a"), number("b"), number("c").or(Default::Null)], power),
    function(
        "round",
        &[number("number"), int("ndigits").or(Default::Int(0))],
        |call| Ok(arithmetic::round(&call.number(0), call.small_int(1)).into()),
    ),
    function("bitwiseAnd", INTEGERS, |call| bitwise(call, |l, r| l & r, |l, r| l & r)),
    function("bitwiseOr", INTEGERS, |call| bitwise(call, |l, r| l | r, |l, r| l | r)),
    function("bitwiseXor", INTEGERS, |call| bitwise(call, |l, r| l ^ r, |l, r| l ^ r)),
    function("bitwiseNot", &[int("arg")], |call| Ok(Value::int(-call.int(0) - 1))),
    function("shiftBitsLeft", SHIFT, |call| {
        let (value, bits) = (call.int(0), call.int(1));
        check_bits(call, value.bits(), &bits)?;
        Ok(Value::int(arithmetic::shift_left(&value, &bits)?))
    }),
    function("shiftBitsRight", SHIFT, |call| {
        Ok(Value::int(arithmetic::shift_right(&call.int(0), &call.int(1))?))
    }),
    function("max", &[any("a"), any("b")], |call| {
        let b_is_greater = call.invoke_on_values("#operator_>", vec![call.owned(1), call.owned(0)])?;
        Ok(call.owned(usize::from(b_is_greater.is_true())))
    }),
    function("min", &[any("a"), any("b")], |call| {
        let b_is_greater = call.invoke_on_values("#operator_>", vec![call.owned(1), call.owned(0)])?;
        Ok(call.owned(usize::from(!b_is_greater.is_true())))
    }),
    function("random", &[], |call| {
        const BITS_OF_MANTISSA: i32 = 53;
        let numerator = (call.engine.random() >> (64 - BITS_OF_MANTISSA)) as f64;
        Ok(Value::float(numerator * 2_f64.powi(-BITS_OF_MANTISSA)))
    }),
    function("random", &[any("from"), any("to")], random_between),
    function("isInteger", &[any("value")], |call| {
        Ok(matches!(call.value(0), Value::Number(PyNumber::Int(_))).into())
    }),
    function("isNumber", &[any("value")], |call| {
        Ok(matches!(call.value(0), Value::Number(_)).into())
    }),
];

fn power(call: &Call<'_>) -> Outcome {
    let (base, exponent) = (call.number(0), call.number(1));
    if !call.value(2).is_null() {
        let words = words(&call.number(2));
        pay_for_words(
            call,
            words.saturating_mul(words).saturating_mul(self::words(&exponent) * 64),
        )?;
        return Ok(arithmetic::power_modulo(&base, &exponent, &call.number(2))?.into());
    }
    if let (PyNumber::Int(base), PyNumber::Int(exponent)) = (&base, &exponent)
        && base.bits() > 1
    {
        check_bits(call, 0, &(exponent * (base.bits() - 1)))?;
    }
    Ok(arithmetic::power(&base, &exponent)?.into())
}

fn words(number: &PyNumber) -> u64 {
    match number {
        PyNumber::Int(integer) => integer.bits().div_ceil(64),
        PyNumber::Float(_) => 1,
    }
}

/// Multiplying and dividing long integers takes time for each pair of their words.
fn pay_for_words(call: &Call<'_>, products: u64) -> Result<(), Error> {
    const PRODUCTS_A_STEP: u64 = 1000;
    call.engine.spend(products / PRODUCTS_A_STEP)
}

fn pay_for_product(call: &Call<'_>) -> Result<(), Error> {
    let (left, right) = (words(&call.number(0)), words(&call.number(1)));
    pay_for_words(call, left.saturating_mul(right))
}

/// Refuses at once what the quota would refuse after a long computation.
fn check_bits(call: &Call<'_>, bits: u64, more: &BigInt) -> Result<(), Error> {
    const BITS_A_BYTE: u64 = 8;
    match i64::try_from(more).map(u64::try_from) {
        Ok(Ok(more)) => {
            let bytes = bits.saturating_add(more) / BITS_A_BYTE;
            call.engine
                .check_future_size(usize::try_from(bytes).unwrap_or(usize::MAX))
        }
        // Negative, or so large that the computation fails by itself.
        _ => Ok(()),
    }
}

/// Two booleans give a boolean.
fn bitwise(call: &Call<'_>, on_bits: fn(BigInt, BigInt) -> BigInt, on_flags: fn(bool, bool) -> bool) -> Outcome {
    Ok(match (call.value(0), call.value(1)) {
        (Value::Bool(left), Value::Bool(right)) => on_flags(*left, *right).into(),
        _ => Value::int(on_bits(call.int(0), call.int(1))),
    })
}

fn random_between(call: &Call<'_>) -> Outcome {
    let (from, to) = (random_bound(call.value(0))?, random_bound(call.value(1))?);
    let width: BigInt = &to - &from + 1;
    if width <= BigInt::ZERO {
        let beyond = &to + 1;
        return Err(Error::value_error(format!(
            "empty range for randrange() ({from}, {beyond}, {width})"
        )));
    }
    let digits = width.bits() / 64 + 2;
    let mut random = BigInt::ZERO;
    for _ in 0..digits {
        random = (random << 64) + call.engine.random();
    }
    Ok(Value::int(from + random % width))
}

fn random_bound(value: &Value) -> Result<BigInt, Error> {
    let not_whole = || Error::value_error("non-integer arg 1 for randrange()");
    if let Value::Text(text) = value {
        numeral::int(text)?;
        return Err(not_whole());
    }
    match value.as_number() {
        Some(number) => number.as_exact_integer().ok_or_else(not_whole),
        None => Err(Error::type_error(format!(
            "int() argument must be a string, a bytes-like object or a real number, not '{}'",
            value.class_name()
        ))),
    }
}
