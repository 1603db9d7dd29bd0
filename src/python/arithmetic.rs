//! Arithmetic as Python does it: integers that grow, division that rounds down, and the errors in Python's words.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use super::error::PythonError;
use super::number::PyNumber::{self, Float, Int};

type Outcome = Result<PyNumber, PythonError>;

/// Longer powers and shifts are refused before they are computed: 32 MiB.
const MOST_BITS: u64 = 1 << 28;

pub fn add(left: &PyNumber, right: &PyNumber) -> Outcome {
    match (left, right) {
        (Int(left), Int(right)) => Ok(Int(left + right)),
        _ => Ok(Float(to_float(left)? + to_float(right)?)),
    }
}

pub fn subtract(left: &PyNumber, right: &PyNumber) -> Outcome {
    match (left, right) {
        (Int(left), Int(right)) => Ok(Int(left - right)),
        _ => Ok(Float(to_float(left)? - to_float(right)?)),
    }
}

pub fn multiply(left: &PyNumber, right: &PyNumber) -> Outcome {
    match (left, right) {
        (Int(left), Int(right)) => Ok(Int(left * right)),
        _ => Ok(Float(to_float(left)? * to_float(right)?)),
    }
}

/// `//` for two integers, `/` where one is a float.
pub fn divide(left: &PyNumber, right: &PyNumber) -> Outcome {
    match (left, right) {
        (Int(_), Int(right)) if right.sign() == Sign::NoSign => Err(PythonError::new(
            "ZeroDivisionError",
            "integer division or modulo by zero",
        )),
        (Int(left), Int(right)) => Ok(Int(floor_divide(left, right))),
        _ => divide_floats(to_float(left)?, to_float(right)?).map(Float),
    }
}

/// `/` between floats.
pub fn divide_floats(left: f64, right: f64) -> Result<f64, PythonError> {
    if right == 0.0 {
        return Err(PythonError::new("ZeroDivisionError", "float division by zero"));
    }
    Ok(left / right)
}

/// Rounds towards minus infinity. The divisor is not zero.
pub fn floor_divide(left: &BigInt, right: &BigInt) -> BigInt {
    let quotient = left / right;
    let is_exact = (left % right).sign() == Sign::NoSign;
    if !is_exact && (left.sign() == Sign::Minus) != (right.sign() == Sign::Minus) {
        quotient - 1
    } else {
        quotient
    }
}

pub fn modulo(left: &PyNumber, right: &PyNumber) -> Outcome {
    if let (Int(_), Int(_)) = (left, right) {
        return left
            .modulo(right)
            .ok_or_else(|| PythonError::new("ZeroDivisionError", "integer modulo by zero"));
    }
    let (left, right) = (to_float(left)?, to_float(right)?);
    if right == 0.0 {
        return Err(PythonError::new("ZeroDivisionError", "float modulo"));
    }
    let remainder = left % right;
    Ok(Float(if remainder == 0.0 {
        0.0_f64.copysign(right)
    } else if (remainder < 0.0) != (right < 0.0) {
        remainder + right
    } else {
        remainder
    }))
}

pub fn negate(number: &PyNumber) -> PyNumber {
    match number {
        Int(integer) => Int(-integer),
        Float(float) => Float(-float),
    }
}

pub fn absolute(number: &PyNumber) -> PyNumber {
    match number {
        Int(integer) => Int(BigInt::from(integer.magnitude().clone())),
        Float(float) => Float(float.abs()),
    }
}

/// -1, 0 or 1; 0 for what is no number.
pub fn sign(number: &PyNumber) -> i64 {
    match number.compare(&Int(BigInt::ZERO)) {
        Some(Ordering::Less) => -1,
        Some(Ordering::Greater) => 1,
        _ => 0,
    }
}

/// `pow(base, exponent)`.
pub fn power(base: &PyNumber, exponent: &PyNumber) -> Outcome {
    if let (Int(base), Int(exponent)) = (base, exponent)
        && exponent.sign() != Sign::Minus
    {
        return integer_power(base, exponent).map(Int);
    }
    float_power(to_float(base)?, to_float(exponent)?).map(Float)
}

fn integer_power(base: &BigInt, exponent: &BigInt) -> Result<BigInt, PythonError> {
    if base.bits() <= 1 {
        let is_odd = exponent.bit(0);
        return Ok(match (base.sign(), exponent.sign()) {
            (_, Sign::NoSign) => BigInt::from(1),
            (Sign::Minus, _) if !is_odd => BigInt::from(1),
            _ => base.clone(),
        });
    }
    let bits = u32::try_from(exponent)
        .ok()
        .and_then(|exponent| (base.bits() - 1).checked_mul(u64::from(exponent)));
    match (bits, u32::try_from(exponent)) {
        (Some(bits), Ok(exponent)) if bits <= MOST_BITS => Ok(base.pow(exponent)),
        _ => Err(PythonError::too_much_memory()),
    }
}

fn float_power(base: f64, exponent: f64) -> Result<f64, PythonError> {
    if base == 0.0 && exponent < 0.0 {
        return Err(PythonError::new(
            "ZeroDivisionError",
            "0.0 cannot be raised to a negative power",
        ));
    }
    if base < 0.0 && base.is_finite() && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(PythonError::type_error("a complex number is no result"));
    }
    let result = base.powf(exponent);
    if result.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Err(PythonError::new(
            "OverflowError",
            "(34, 'Numerical result out of range')",
        ));
    }
    Ok(result)
}

/// `pow(base, exponent, modulus)`.
pub fn power_modulo(base: &PyNumber, exponent: &PyNumber, modulus: &PyNumber) -> Outcome {
    let (Int(base), Int(exponent), Int(modulus)) = (base, exponent, modulus) else {
        return Err(PythonError::type_error(
            "pow() 3rd argument not allowed unless all arguments are integers",
        ));
    };
    if modulus.sign() == Sign::NoSign {
        return Err(PythonError::value_error("pow() 3rd argument cannot be 0"));
    }
    let positive = BigInt::from(modulus.magnitude().clone());
    let power = if exponent.sign() == Sign::Minus {
        let inverse = base
            .modinv(&positive)
            .ok_or_else(|| PythonError::value_error("base is not invertible for the given modulus"))?;
        inverse.modpow(&-exponent, &positive)
    } else {
        base.modpow(exponent, &positive)
    };
    let is_exact = power.sign() == Sign::NoSign;
    Ok(Int(if modulus.sign() == Sign::Minus && !is_exact {
        power + modulus
    } else {
        power
    }))
}

pub fn shift_left(value: &BigInt, bits: &BigInt) -> Result<BigInt, PythonError> {
    if bits.sign() == Sign::Minus {
        return Err(PythonError::value_error("negative shift count"));
    }
    if value.sign() == Sign::NoSign {
        return Ok(BigInt::ZERO);
    }
    match u64::try_from(bits) {
        Ok(bits) if bits <= MOST_BITS => Ok(value << bits),
        Ok(bits) if bits < (i64::MAX as u64) => Err(PythonError::too_much_memory()),
        _ => Err(PythonError::new("OverflowError", "too many digits in integer")),
    }
}

pub fn shift_right(value: &BigInt, bits: &BigInt) -> Result<BigInt, PythonError> {
    if bits.sign() == Sign::Minus {
        return Err(PythonError::value_error("negative shift count"));
    }
    let bits = u64::try_from(bits).unwrap_or(u64::MAX).min(value.bits() + 1);
    Ok(value >> bits)
}

/// `round(number, digits)`: half to even, on the exact value.
pub fn round(number: &PyNumber, digits: i64) -> PyNumber {
    match number {
        Int(integer) if digits < 0 => Int(round_integer(integer, digits.unsigned_abs())),
        Int(integer) => Int(integer.clone()),
        Float(float) => Float(round_float(*float, digits)),
    }
}

fn round_integer(integer: &BigInt, digits: u64) -> BigInt {
    // A number of n bits has at most n/3 + 1 decimal digits.
    if digits > integer.bits() / 3 + 1 {
        return BigInt::ZERO;
    }
    let unit = BigInt::from(10).pow(u32::try_from(digits).unwrap_or(u32::MAX));
    let below = floor_divide(integer, &unit);
    let twice_the_rest: BigInt = (integer - &below * &unit) * 2;
    let goes_up = match twice_the_rest.cmp(&unit) {
        Ordering::Less => false,
        Ordering::Equal => below.bit(0),
        Ordering::Greater => true,
    };
    (if goes_up { below + 1 } else { below }) * unit
}

fn round_float(float: f64, digits: i64) -> f64 {
    const MOST_DIGITS: i64 = 323;
    if !float.is_finite() || digits > MOST_DIGITS {
        return float;
    }
    if digits < -308 {
        return 0.0_f64.copysign(float);
    }
    if digits >= 0 {
        let text = format!("{float:.*}", usize::try_from(digits).unwrap_or_default());
        return text.parse().unwrap_or(float);
    }
    // Only the whole part counts, but a fraction breaks a tie.
    let whole: BigInt = format!("{:.0}", float.trunc()).parse().unwrap_or_default();
    let tenfold = whole * 10 + if float.fract() == 0.0 { 0 } else { float.signum() as i64 };
    let rounded: BigInt = round_integer(&tenfold, digits.unsigned_abs() + 1) / 10;
    let result: f64 = rounded.to_string().parse().unwrap_or(float);
    result.copysign(float)
}

/// `float(number)`.
pub fn to_float(number: &PyNumber) -> Result<f64, PythonError> {
    let float = number.as_f64();
    if float.is_infinite() && !number.is_float() {
        return Err(PythonError::new("OverflowError", "int too large to convert to float"));
    }
    Ok(float)
}

/// `int(float)`: the fraction is cut off.
pub fn truncate(float: f64) -> Result<BigInt, PythonError> {
    if float.is_nan() {
        return Err(PythonError::value_error("cannot convert float NaN to integer"));
    }
    if float.is_infinite() {
        return Err(PythonError::new(
            "OverflowError",
            "cannot convert float infinity to integer",
        ));
    }
    Ok(format!("{:.0}", float.trunc()).parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> PyNumber {
        Int(BigInt::from(value))
    }

    fn text(outcome: Outcome) -> String {
        outcome.map_or_else(|error| error.to_string(), |number| number.text())
    }

    #[test]
    fn division_rounds_down() {
        assert_eq!(text(divide(&int(-7), &int(2))), "-4");
        assert_eq!(text(divide(&int(7), &int(-2))), "-4");
        assert_eq!(text(divide(&int(7), &Float(2.0))), "3.5");
        assert_eq!(text(modulo(&Float(-5.0), &Float(f64::INFINITY))), "inf");
        assert_eq!(text(modulo(&int(7), &Float(-3.5))), "-0.0");
        assert_eq!(text(divide(&int(1), &int(0))), "integer division or modulo by zero");
    }

    #[test]
    fn powers() {
        assert_eq!(text(power(&int(2), &int(-1))), "0.5");
        assert_eq!(text(power_modulo(&int(2), &int(-1), &int(5))), "3");
        assert_eq!(text(power_modulo(&int(2), &int(3), &int(-5))), "-2");
        assert_eq!(text(power(&int(-1), &Int(BigInt::from(10).pow(30)))), "1");
        assert!(power(&int(2), &Int(BigInt::from(10).pow(30))).is_err());
        assert!(shift_left(&BigInt::from(1), &BigInt::from(10_u64.pow(15))).is_err());
    }

    #[test]
    fn ties_go_to_the_even_neighbour() {
        for (number, digits, expected) in [
            (Float(2.5), 0, "2.0"),
            (Float(0.125), 2, "0.12"),
            (Float(1234.5), -2, "1200.0"),
            (Float(150.1), -2, "200.0"),
            (Float(250.0), -2, "200.0"),
            (Float(1e300), -299, "1e+300"),
            (int(15), -1, "20"),
            (int(25), -1, "20"),
            (int(-15), -1, "-20"),
        ] {
            assert_eq!(round(&number, digits).text(), expected);
        }
    }
}
